//! The segments of a model that golden supports, if it does not support the whole.

use std::iter;

use twinfer_case::{Outcome, Stage, Task, VariantRecord};
use twinfer_onnx::PartialGraph;

use super::{
    findings::Findings,
    repeats::{Repeats, repeat_segments},
    segment_verdict::judge_with,
};
use crate::{OpaqueModel, TargetError, Targets};

impl Targets {
    /// Judges the segments of a model on every variant that executed it, and adds what that shows to `records`. If a segment is wrong,
    /// `repeats` become those of the segment, provided that `findings` do not know it yet.
    pub(super) fn judge_segments(
        &self,
        (model, graph): (&OpaqueModel, &PartialGraph),
        task: &Task,
        findings: &mut Findings<'_>,
        (records, repeats): (&mut [VariantRecord], &mut [Repeats]),
    ) -> Result<(), TargetError> {
        for ((workers, record), repeats) in self.variants.iter().zip(records).zip(repeats) {
            if record.stage != Stage::Execute || record.outcome != Some(Outcome::Ok) {
                continue;
            }
            let whole = record.clone();
            let observation = workers.observe_warm(task)?;
            judge_with(workers, (graph, task), &observation, record, &mut |task| workers.observe_warm(task))?;
            if record.verdict.divergences().first().is_some_and(|lead| lead.culprit.is_some()) {
                let is_new = findings.are_to_be_repeated(iter::once((workers.info(), &*record)));
                *repeats =
                    if is_new { repeat_segments(workers, graph, task, &whole)? } else { Repeats::default() };
                repeats.settle(model, record);
            }
        }
        Ok(())
    }
}
