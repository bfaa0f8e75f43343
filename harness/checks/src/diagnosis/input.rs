use twinfer_case::{Description, EncodedCase, Observation};
use twinfer_golden::Arithmetic;

use crate::References;

/// A divergence to diagnose: what a variant did with a case, and what it should have done.
#[derive(Clone, Copy)]
pub struct DiagnosisInput<'a> {
    /// The case.
    pub encoded: &'a EncodedCase,
    /// What golden computes, run by run.
    pub references: &'a References,
    /// What the variant did.
    pub observation: &'a Observation,
    /// The arithmetic of the backend.
    pub arithmetic: Arithmetic,
    /// The description that the backend gives of itself.
    pub description: &'a Description,
}
