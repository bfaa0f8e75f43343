use std::sync::Arc;

use twinfer_case::{BackendName, Variant, VariantInfo};
use twinfer_checks::{Oracle, golden_for};
use twinfer_workers::{
    Deadlines, Semaphore, SparePolicy, TriageWorkers, Watchdog, WorkerCommand, WorkerPool,
};

use crate::TargetError;

/// Variants with a worker each, ready for one case at a time.
pub struct Targets {
    pub(crate) workers: Vec<TriageWorkers>,
    pub(crate) oracle: Oracle,
}

impl Targets {
    /// Starts a worker for each of `variants`; `golden` decides and is left out.
    pub fn start(
        variants: &[Variant],
        worker: &WorkerCommand,
        deadlines: Deadlines,
    ) -> Result<Self, TargetError> {
        let watchdog = Watchdog::start();
        let gate = Arc::new(Semaphore::for_worker_starts());
        let start = |variant: &Variant| {
            let nursery = WorkerPool::new(
                variant.clone(),
                worker.clone(),
                deadlines,
                watchdog.clone(),
                Arc::clone(&gate),
                SparePolicy::default(),
            );
            TriageWorkers::start(Arc::new(nursery))
        };
        let subjects = variants.iter().filter(|variant| variant.backend != BackendName::Golden);
        let workers = subjects.map(start).collect::<Result<Vec<_>, _>>()?;
        if workers.is_empty() {
            return Err(TargetError::NoBackend);
        }
        let arithmetic = workers.iter().map(|workers| workers.info().description.arithmetic);
        Ok(Self { oracle: golden_for(arithmetic), workers })
    }

    /// The variants with what their backends say of themselves.
    pub fn infos(&self) -> impl Iterator<Item = &VariantInfo> {
        self.workers.iter().map(TriageWorkers::info)
    }
}
