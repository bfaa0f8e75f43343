//! *Checking* runs one case on every variant.

use twinfer_case::{Case, VariantRecord};

use crate::{TargetError, Targets};

impl Targets {
    /// Runs `case` on every variant, each in a worker that has run no other case: the verdicts, in the order of the variants.
    pub fn check(&self, case: &Case) -> Result<Vec<VariantRecord>, TargetError> {
        let record = |workers| Ok(self.evaluate_fresh(workers, case)?.record(workers.info()));
        self.variants.iter().map(record).collect()
    }
}
