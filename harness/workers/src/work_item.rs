use std::sync::Arc;

use twinfer_case::{EncodedCase, Observation};

/// A case to run on one variant.
#[derive(Clone)]
pub struct WorkItem {
    /// The case's index in the campaign.
    pub index: u64,
    /// The case to run.
    pub case: Arc<EncodedCase>,
    /// Whether this is the second run of the case, to be compared with the first.
    pub repeat: bool,
}

/// An observation of a case, with the worker's history.
pub struct Observed {
    /// The case's index in the campaign.
    pub index: u64,
    /// The variant's index among those of the campaign.
    pub variant: usize,
    /// Whether this is the second run of the case.
    pub repeat: bool,
    /// What the variant did with the case.
    pub observation: Observation,
    /// The cases that the worker ran before, oldest first, as indices in the campaign.
    pub preceding: Vec<u64>,
}
