//! How much of what is wrong a hypothesis accounts for.

use twinfer_golden::{Agreement, Arithmetic, Hypothesis, Limits, Reference, evaluate_edited};
use twinfer_onnx::Tensor;

use crate::Evaluated;

/// The limits on an evaluation: many are made.
const LIMITS: Limits = Limits { elements: 1 << 18, multiply_accumulates: 1 << 20 };

/// The share of what is wrong in a case that `hypothesis` leaves: 0 if it accounts for every element, 1 or more if it makes nothing better.
/// `None` if nothing is wrong but shapes, or if they are.
pub fn error_left(hypothesis: Hypothesis, evaluated: &Evaluated, arithmetic: Arithmetic) -> Option<f64> {
    let Evaluated { encoded, references, observation, .. } = evaluated;
    let arithmetic = arithmetic.for_request(&encoded.case.request);
    let (mut left, mut wrong) = (0.0, 0);
    for ((inputs, golden), run) in encoded.task.runs.iter().zip(references.iter()).zip(&observation.runs) {
        let golden = golden.as_ref().ok()?;
        let edited =
            evaluate_edited(&encoded.case.graph, inputs, arithmetic, hypothesis, None, LIMITS).ok()?;
        for ((golden, edited), output) in golden.outputs.iter().zip(&edited.outputs).zip(&run.outputs) {
            let (left_of_output, wrong_of_output) = of_output(golden, edited, output)?;
            left += left_of_output;
            wrong += wrong_of_output;
        }
    }
    (wrong > 0).then(|| left / f64::from(wrong))
}

/// How much is left of the errors of an output, one for each wrong element and for each that the hypothesis makes wrong; and how many elements
/// are wrong.
fn of_output(golden: &Reference, edited: &Reference, output: &Tensor) -> Option<(f64, u32)> {
    if golden.shape != output.shape || edited.shape != output.shape {
        return None;
    }
    let (mut left, mut wrong) = (0.0, 0);
    for (place, given) in output.to_f64().into_iter().enumerate() {
        match (golden.compare(place, given), edited.compare(place, given)) {
            (Agreement::Wrong(before), Agreement::Wrong(after)) => {
                wrong += 1;
                left += share(before, after);
            }
            (Agreement::Wrong(_), _) => wrong += 1,
            (_, Agreement::Wrong(_)) => left += 1.0,
            _ => {}
        }
    }
    Some((left, wrong))
}

/// What is left of an error, one at most.
fn share(before: f64, after: f64) -> f64 {
    if before.is_finite() { (after / before).min(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;

    fn reference(values: &[f64]) -> Reference {
        Reference {
            dtype: DataType::Float,
            shape: vec![values.len()],
            values: values.to_vec(),
            bound: vec![0.0; values.len()],
            grid_step: None,
            quantization_step: None,
            has_signed_zeros: false,
        }
    }

    fn left(golden: &[f64], edited: &[f64], given: &[f64]) -> Option<(f64, u32)> {
        let output = Tensor::from_f64(DataType::Float, vec![given.len()], given).expect("a vector");
        of_output(&reference(golden), &reference(edited), &output)
    }

    #[test]
    fn each_wrong_element_counts_as_far_as_it_stays_wrong() {
        assert_eq!(left(&[0.0, 0.0, 1.0], &[4.0, 1.0, 1.0], &[4.0, 4.0, 1.0]), Some((0.75, 2)));
        assert_eq!(left(&[0.0, 1.0], &[9.0, 1.0], &[4.0, 1.0]), Some((1.0, 1)), "it makes it no worse");
        assert_eq!(left(&[0.0, 1.0], &[4.0, 2.0], &[4.0, 1.0]), Some((1.0, 1)), "another element is wrong");
        let infinity = f64::INFINITY;
        assert_eq!(left(&[infinity], &[0.0], &[4.0]), Some((1.0, 1)));
        assert_eq!(left(&[0.0], &[0.0, 0.0], &[4.0]), None);
    }
}
