use twinfer_case::Case;

/// Edited copies of a case, made one at a time: a copy holds every tensor of the case.
pub type Candidates<'a> = Box<dyn Iterator<Item = Case> + 'a>;
