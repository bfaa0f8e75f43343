use twinfer_case::TrustedVariant;
use twinfer_libraries::Hashing;
use twinfer_targets::Targets;

use crate::{
    Failure,
    provision::provision,
    worker::{WorkerSettings, worker_with},
};

/// Starts a worker for each of `variants`, after installing missing libraries.
pub fn start(variants: &[TrustedVariant], settings: WorkerSettings<'_>) -> Result<Targets, Failure> {
    let provision = provision(variants)?;
    let libraries = provision.verify(Hashing::Cached)?;
    let mut worker = worker_with(&provision)?;
    settings.apply_to(&mut worker);
    Ok(Targets::start(variants, &worker, settings.deadlines())?.with_libraries(libraries))
}
