use twinfer_case::{Case, Description, Observation, Variant};
use twinfer_golden::{Evaluation, Unknown};

/// What golden computes for each run, in order.
pub type References = [RunReference];

/// What golden computes for one run, or why it cannot.
pub type RunReference = Result<Evaluation, Unknown>;

/// Everything that the checks know about one variant on one case.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The case.
    pub case: &'a Case,
    /// The variant.
    pub variant: &'a Variant,
    /// The description that the variant's backend gives of itself.
    pub description: &'a Description,
    /// What golden computes, run by run; empty for an invalid case.
    pub references: &'a References,
    /// What the variant did.
    pub observation: &'a Observation,
    /// What the variant did when the same worker ran the case again; `None` if it did not.
    pub repeat: Option<&'a Observation>,
    /// What the variant did in a worker that has run no other case; `None` if there was none.
    pub fresh: Option<&'a Observation>,
}
