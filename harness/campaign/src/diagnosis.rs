//! *Diagnosis*: the mutants of golden that reproduce a backend's output.

use twinfer_case::Observation;
use twinfer_golden::{Agreement, Evaluation, Mutant, Reference, evaluate_with};

use crate::prepared::Prepared;

/// The names of the mutants that give every output of every run as it was observed; none where there are no outputs.
pub fn diagnose(prepared: &Prepared, observation: &Observation) -> Vec<String> {
    if observation.runs.is_empty() {
        return Vec::new();
    }
    let explains = |mutant: &&Mutant| explains(**mutant, prepared, observation);
    Mutant::ALL.iter().filter(explains).map(|mutant| mutant.name().to_owned()).collect()
}

fn explains(mutant: Mutant, prepared: &Prepared, observation: &Observation) -> bool {
    prepared.task.runs.iter().zip(&observation.runs).all(|(inputs, run)| {
        evaluate_with(&prepared.case.graph, inputs, Some(mutant))
            .is_ok_and(|evaluation| reproduces(&evaluation, &run.outputs))
    })
}

fn reproduces(evaluation: &Evaluation, outputs: &[twinfer_onnx::Tensor]) -> bool {
    evaluation.outputs.len() == outputs.len()
        && evaluation.outputs.iter().zip(outputs).all(|(reference, output)| {
            reference.shape == output.shape
                && tells(reference)
                && output
                    .to_f64()
                    .iter()
                    .enumerate()
                    .all(|(place, given)| !matches!(reference.compare(place, *given), Agreement::Wrong(_)))
        })
}

/// Whether a reference can explain anything: one that agrees with every value explains none.
fn tells(reference: &Reference) -> bool {
    !reference.is_vacuous() && reference.bound.iter().all(|bound| bound.is_finite())
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{DataType, Tensor};

    use super::*;

    fn evaluation(value: f64, bound: f64) -> Evaluation {
        let reference = Reference {
            dtype: DataType::Float,
            shape: vec![1],
            values: vec![value],
            bound: vec![bound],
            grid_step: None,
        };
        Evaluation { outputs: vec![reference], unspecified: Vec::new() }
    }

    #[test]
    fn a_reference_that_agrees_with_everything_explains_nothing() {
        let output = [Tensor::from_f64(DataType::Float, vec![1], &[-87913.0]).unwrap()];
        assert!(reproduces(&evaluation(-87913.0, 0.01), &output));
        assert!(!reproduces(&evaluation(7.0, 0.01), &output));
        assert!(!reproduces(&evaluation(7.0, f64::INFINITY), &output));
    }
}
