use twinfer_case::Variant;
use twinfer_targets::Targets;
use twinfer_workers::Deadlines;

use crate::{Failure, worker::worker_for};

/// A worker for each of `variants`, with their libraries installed first where they are missing.
pub fn start(variants: &[Variant]) -> Result<Targets, Failure> {
    Ok(Targets::start(variants, &worker_for(variants)?, Deadlines::default())?)
}
