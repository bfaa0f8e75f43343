use twinfer_case::{Observation, Task, VariantRecord};
use twinfer_checks::Judgement;
use twinfer_onnx::PartialGraph;
use twinfer_segments::{Cutting, Found, Subject, conclude, examine};
use twinfer_workers::{TriageWorkers, WorkerError};

/// Judges the segments of a model on which a variant did what `observation` says, adds what that shows to `record`, and returns the segments that
/// are wrong for different reasons; behind the first, that many are looked into. `observe` runs more.
pub fn judge_with(
    workers: &TriageWorkers,
    (graph, task): (&PartialGraph, &Task),
    observation: &Observation,
    record: &mut VariantRecord,
    looked_into: usize,
    observe: &mut dyn FnMut(&Task) -> Result<Observation, WorkerError>,
) -> Result<Vec<Found>, WorkerError> {
    let is_wrong = !record.verdict.divergences().is_empty();
    let cutting = Cutting::Always;
    let subject = Subject { info: workers.info(), graph, task, observation, is_wrong, cutting, looked_into };
    let examination = examine(subject, observe)?;
    let mut judgement = Judgement {
        verdict: record.verdict.clone(),
        notes: std::mem::take(&mut record.notes),
        compared: record.compared,
    };
    conclude(&mut judgement, workers.info(), &examination);
    Judgement { verdict: record.verdict, notes: record.notes, compared: record.compared } = judgement;
    let others = examination.others.into_iter().filter(|other| other.stands_alone);
    Ok(examination.found.into_iter().chain(others).collect())
}
