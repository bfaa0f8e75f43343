use twinfer_case::TrustedVariant;
use twinfer_targets::Targets;
use twinfer_workers::Deadlines;

use crate::{Failure, run_log::RunLog, worker::worker_for};

/// Starts a worker for each of `variants`, after installing missing libraries. Workers append to `log`, if there is one.
pub fn start(variants: &[TrustedVariant], log: Option<&RunLog>) -> Result<Targets, Failure> {
    let mut worker = worker_for(variants)?;
    if let Some(log) = log {
        log.extend_to(&mut worker);
    }
    Ok(Targets::start(variants, &worker, Deadlines::default())?)
}
