use twinfer_case::TrustedVariant;
use twinfer_targets::Targets;
use twinfer_workers::Deadlines;

use crate::{
    Failure,
    worker::{WorkerSettings, worker_for},
};

/// Starts a worker for each of `variants`, after installing missing libraries.
pub fn start(variants: &[TrustedVariant], settings: WorkerSettings<'_>) -> Result<Targets, Failure> {
    let mut worker = worker_for(variants)?;
    settings.apply_to(&mut worker);
    Ok(Targets::start(variants, &worker, Deadlines::default())?)
}
