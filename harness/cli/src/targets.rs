use twinfer_case::Variant;
use twinfer_targets::Targets;
use twinfer_workers::Deadlines;

use crate::{Failure, worker::worker_for};

/// Starts a worker for each of `variants`, after installing missing libraries.
pub fn start(variants: &[Variant]) -> Result<Targets, Failure> {
    Ok(Targets::start(variants, &worker_for(variants)?, Deadlines::default())?)
}
