//! The segments of a model that golden supports, if it does not support the whole.

use std::iter;

use twinfer_case::{Observation, Outcome, Stage, Task, VariantRecord};
use twinfer_checks::Judgement;
use twinfer_onnx::PartialGraph;
use twinfer_segments::{Cutting, Subject, conclude, examine};
use twinfer_workers::{TriageWorkers, WorkerError};

use super::{
    findings::Findings,
    repeats::{Repeats, repeat_segments},
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

/// Judges the segments of a model on which a variant did what `observation` says, and adds what that shows to `record`. `observe` runs
/// more.
pub(super) fn judge_with(
    workers: &TriageWorkers,
    (graph, task): (&PartialGraph, &Task),
    observation: &Observation,
    record: &mut VariantRecord,
    observe: &mut dyn FnMut(&Task) -> Result<Observation, WorkerError>,
) -> Result<(), WorkerError> {
    let is_wrong = !record.verdict.divergences().is_empty();
    let cutting = Cutting::Always;
    let subject = Subject { info: workers.info(), graph, task, observation, is_wrong, cutting };
    let examination = examine(subject, observe)?;
    let mut judgement = Judgement {
        verdict: record.verdict.clone(),
        notes: std::mem::take(&mut record.notes),
        compared: record.compared,
    };
    conclude(&mut judgement, workers.info(), &examination);
    Judgement { verdict: record.verdict, notes: record.notes, compared: record.compared } = judgement;
    Ok(())
}
