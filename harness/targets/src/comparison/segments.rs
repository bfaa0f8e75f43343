//! The segments of a model that golden supports, if it does not support the whole.

use std::iter;

use twinfer_case::{Outcome, RepeatedOutcome, Stage, Task, VariantRecord};
use twinfer_onnx::PartialGraph;

use super::{
    findings::Findings,
    repeats::{repeat_alone, repeat_inside},
    segment_verdict::judge_with,
};
use crate::{OpaqueModel, TargetError, Targets};

impl Targets {
    /// Judges the segments of a model on every variant that executed it, and adds what that shows to `records`. If a segment is wrong,
    /// `outcomes` become what its repeats came to, or nothing if `findings` know it.
    pub(super) fn judge_segments(
        &self,
        (model, graph): (&OpaqueModel, &PartialGraph),
        task: &Task,
        findings: &mut Findings<'_>,
        (records, outcomes): (&mut [VariantRecord], &mut [Vec<RepeatedOutcome>]),
    ) -> Result<(), TargetError> {
        for ((workers, record), outcomes) in self.variants.iter().zip(records).zip(outcomes) {
            if record.stage != Stage::Execute || record.outcome != Some(Outcome::Ok) {
                continue;
            }
            let whole = record.clone();
            let observation = workers.observe_warm(task)?;
            let mut observe = |task: &Task| workers.observe_warm(task);
            let found = judge_with(workers, (graph, task), &observation, record, &mut observe)?;
            let is_lead = record.verdict.divergences().first().is_some_and(|lead| lead.culprit.is_some());
            let Some(found) = found.filter(|_| is_lead) else { continue };
            let is_new = findings.are_to_be_repeated(iter::once((workers.info(), &*record)));
            *outcomes = match (is_new, found.stands_alone) {
                (false, _) => Vec::new(),
                (true, true) => repeat_alone(workers, found.evaluated, record)?,
                (true, false) => repeat_inside(workers, graph, task, &whole)?.settle(model, record),
            };
        }
        Ok(())
    }
}
