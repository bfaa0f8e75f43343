//! Findings of segments that are wrong as models of their own: unlike the model, they are cases that golden supports.

use twinfer_case::{Finding, Signature, VariantRecord};
use twinfer_checks::Evaluated;
use twinfer_segments::Found;
use twinfer_triage::{Cancellation, DivergingCase, Repeater, Symptom, finding};
use twinfer_workers::TriageWorkers;

use super::repeats::reclassify;
use crate::TargetError;

/// A wrong segment as a finding, with its case.
pub struct SegmentFinding {
    pub finding: Finding,
    pub evaluated: Evaluated,
}

impl SegmentFinding {
    /// The finding that `found` is. Unless its signature `is_known`, it is repeated like that of any other case, and the first divergence of
    /// `record`, if that is one of segments, becomes what the repeats show it to be. `None` if the segment does not diverge.
    pub fn of(
        found: Found,
        workers: &TriageWorkers,
        is_known: impl FnOnce(&Signature) -> bool,
        record: Option<&mut VariantRecord>,
    ) -> Result<Option<Self>, TargetError> {
        let evaluated = found.into_case();
        let Some(lead) = evaluated.divergences().first() else { return Ok(None) };
        let symptom = Symptom::of(lead, &evaluated);
        let (mut diverging, mut outcomes) =
            (DivergingCase { evaluated: evaluated.clone(), symptom }, Vec::new());
        if !is_known(&diverging.symptom.signature(workers.info(), &evaluated.encoded)) {
            let repeater = Repeater { workers, cancellation: &Cancellation::default() };
            if let Some(repeats) = repeater.repeat(&diverging, &[], Vec::new())? {
                if let Some(record) = record {
                    reclassify(record, |_| repeats.recurrence());
                }
                (diverging, outcomes) = (repeats.settle(diverging), repeats.outcomes());
            }
        }
        let finding = finding(workers.info(), &evaluated, &diverging, Vec::new());
        Ok(Some(Self { finding: Finding { outcomes, ..finding }, evaluated: diverging.evaluated }))
    }
}
