use std::sync::Arc;

use twinfer_case::{BackendName, Case, EncodedCase, Libraries, TrustedVariant, VariantInfo};
use twinfer_checks::{Evaluated, Oracle, golden, references};
use twinfer_workers::{Deadlines, HostContext, SparePolicy, TriageWorkers, WorkerCommand, WorkerPool};

use crate::TargetError;

/// Variants under test, each with a worker, ready for one case at a time.
pub struct Targets {
    /// The workers of each variant.
    pub(crate) variants: Vec<TriageWorkers>,
    pub(crate) oracle: Oracle,
    /// What the variants load, as far as that is known.
    pub(crate) libraries: Libraries,
}

impl Targets {
    /// Starts a worker for each of `variants` but golden, which is the reference.
    pub fn start(
        variants: &[TrustedVariant],
        worker: &WorkerCommand,
        deadlines: Deadlines,
    ) -> Result<Self, TargetError> {
        let host = HostContext::start();
        let start = |variant: &TrustedVariant| {
            let (command, policy) = (worker.clone(), SparePolicy::default());
            TriageWorkers::start(Arc::new(WorkerPool::new(
                variant.clone(),
                command,
                deadlines,
                &host,
                policy,
            )))
        };
        let tested = variants.iter().filter(|variant| variant.backend != BackendName::Golden);
        let variants = tested.map(start).collect::<Result<Vec<_>, _>>()?;
        if variants.is_empty() {
            return Err(TargetError::NoBackend);
        }
        Ok(Self { oracle: golden(), variants, libraries: Libraries::default() })
    }

    /// Records with what the variants do that they load `libraries`.
    #[must_use]
    pub fn with_libraries(self, libraries: Libraries) -> Self {
        Self { libraries, ..self }
    }

    /// The variants under test, with the descriptions that their backends give.
    pub fn infos(&self) -> impl Iterator<Item = &VariantInfo> {
        self.variants.iter().map(TriageWorkers::info)
    }

    /// Runs `case` in a worker that has run no other case, and judges what it does.
    pub(crate) fn evaluate_fresh(
        &self,
        workers: &TriageWorkers,
        case: &Case,
    ) -> Result<Evaluated, TargetError> {
        let encoded = EncodedCase::encode(case.clone())?;
        let references = references(&encoded, &self.oracle, workers.info().description.arithmetic);
        let observation = workers.observe_fresh(&encoded.task)?;
        Ok(Evaluated::new(workers.info(), encoded, references, observation))
    }
}
