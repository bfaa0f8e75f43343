//! *Checking* runs one case on every variant.

use twinfer_case::{Case, VariantRecord};

use twinfer_triage::Scrutiny;
use twinfer_workers::TriageWorkers;

use crate::{TargetError, Targets};

impl Targets {
    /// Runs `case` on every variant, each in a worker that has run no other case: the verdicts, in the order of the variants.
    pub fn check(&self, case: &Case) -> Result<Vec<VariantRecord>, TargetError> {
        let record = |workers: &TriageWorkers| {
            let mut evaluated = self.evaluate_fresh(workers, case)?;
            Scrutiny::Rounded.apply(workers, &mut evaluated)?;
            Ok(evaluated.record(workers.info()))
        };
        self.variants.iter().map(record).collect()
    }
}
