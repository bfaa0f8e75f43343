use twinfer_case::{Case, Description, Observation, Variant};
use twinfer_golden::{Evaluation, Unknown};

/// What golden knows of each run, in order.
pub type References = [RunReference];

/// What golden computes for one run, or why it cannot.
pub type RunReference = Result<Evaluation, Unknown>;

/// Everything that is known about one variant on one case.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// What was tried.
    pub case: &'a Case,
    /// Who tried it.
    pub variant: &'a Variant,
    /// What its backend says of itself.
    pub description: &'a Description,
    /// What should come out, run by run.
    pub references: &'a References,
    /// What it did.
    pub observation: &'a Observation,
    /// What it did when it was given the same case again.
    pub repeat: Option<&'a Observation>,
    /// What it did in a worker that has run nothing else.
    pub fresh: Option<&'a Observation>,
}
