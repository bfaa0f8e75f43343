//! *Diagnosis*: the defects of golden that reproduce a backend's output.

use twinfer_case::Observation;
use twinfer_golden::{Agreement, Defect, Evaluation, evaluate_with};

use crate::prepared::Prepared;

/// The names of the defects that give every output of every run as it was observed; none where there are no outputs.
pub fn diagnose(prepared: &Prepared, observation: &Observation) -> Vec<String> {
    if observation.runs.is_empty() {
        return Vec::new();
    }
    let explains = |defect: &&Defect| explains(**defect, prepared, observation);
    Defect::ALL.iter().filter(explains).map(|defect| defect.name().to_owned()).collect()
}

fn explains(defect: Defect, prepared: &Prepared, observation: &Observation) -> bool {
    prepared.task.runs.iter().zip(&observation.runs).all(|(inputs, run)| {
        evaluate_with(&prepared.case.graph, inputs, Some(defect))
            .is_ok_and(|evaluation| reproduces(&evaluation, &run.outputs))
    })
}

fn reproduces(evaluation: &Evaluation, outputs: &[twinfer_onnx::Tensor]) -> bool {
    evaluation.outputs.len() == outputs.len()
        && evaluation.outputs.iter().zip(outputs).all(|(reference, output)| {
            reference.shape == output.shape
                && output
                    .to_f64()
                    .iter()
                    .enumerate()
                    .all(|(place, given)| !matches!(reference.compare(place, *given), Agreement::Wrong(_)))
        })
}
