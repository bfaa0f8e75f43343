use std::sync::Arc;

use twinfer_case::{Backend, Variant, VariantInfo};
use twinfer_checks::{Oracle, golden_for};
use twinfer_workers::{Crew, Deadlines, Gate, Nursery, Reserve, Watchdog, WorkerCommand};

use crate::TargetError;

/// Variants with a worker each, ready for one case at a time.
pub struct Subjects {
    pub(crate) crews: Vec<Crew>,
    pub(crate) oracle: Oracle,
}

impl Subjects {
    /// Starts a worker for each of `variants`; `golden` decides and is left out.
    pub fn start(
        variants: &[Variant],
        worker: &WorkerCommand,
        deadlines: Deadlines,
    ) -> Result<Self, TargetError> {
        let watchdog = Watchdog::start();
        let gate = Arc::new(Gate::of_machine());
        let start = |variant: &Variant| {
            let nursery = Nursery::new(
                variant.clone(),
                worker.clone(),
                deadlines,
                watchdog.clone(),
                Arc::clone(&gate),
                Reserve::default(),
            );
            Crew::start(Arc::new(nursery))
        };
        let subjects = variants.iter().filter(|variant| variant.backend != Backend::Golden);
        let crews = subjects.map(start).collect::<Result<Vec<_>, _>>()?;
        if crews.is_empty() {
            return Err(TargetError::NoBackend);
        }
        let arithmetic = crews.iter().map(|crew| crew.info().description.arithmetic);
        Ok(Self { oracle: golden_for(arithmetic), crews })
    }

    /// The variants with what their backends say of themselves.
    pub fn infos(&self) -> impl Iterator<Item = &VariantInfo> {
        self.crews.iter().map(Crew::info)
    }
}
