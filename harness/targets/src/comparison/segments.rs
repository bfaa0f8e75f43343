//! The segments of a model that golden supports, if it does not support the whole.

use twinfer_case::{Outcome, Stage, Task, VariantRecord};
use twinfer_checks::Judgement;
use twinfer_onnx::PartialGraph;
use twinfer_segments::{Cutting, Subject, conclude, examine};
use twinfer_workers::TriageWorkers;

use crate::{TargetError, Targets};

impl Targets {
    /// Judges the segments of a model on every variant that executed it, and adds what that shows to `records`.
    pub(super) fn judge_segments(
        &self,
        graph: &PartialGraph,
        task: &Task,
        records: &mut [VariantRecord],
    ) -> Result<(), TargetError> {
        for (workers, record) in self.variants.iter().zip(records) {
            if record.stage == Stage::Execute && record.outcome == Some(Outcome::Ok) {
                judge(workers, graph, task, record)?;
            }
        }
        Ok(())
    }
}

fn judge(
    workers: &TriageWorkers,
    graph: &PartialGraph,
    task: &Task,
    record: &mut VariantRecord,
) -> Result<(), TargetError> {
    let observation = workers.observe_warm(task)?;
    let is_wrong = !record.verdict.divergences().is_empty();
    let cutting = Cutting::Always;
    let subject = Subject { info: workers.info(), graph, task, observation: &observation, is_wrong, cutting };
    let examination = examine(subject, &mut |task| workers.observe_warm(task))?;
    let mut judgement = Judgement {
        verdict: record.verdict.clone(),
        notes: std::mem::take(&mut record.notes),
        compared: record.compared,
    };
    conclude(&mut judgement, workers.info(), &examination);
    Judgement { verdict: record.verdict, notes: record.notes, compared: record.compared } = judgement;
    Ok(())
}
