//! Every output has the element type that the graph gives it: `wrong-dtype`.

use twinfer_case::{Kind, Stage};
use twinfer_golden::Evaluation;
use twinfer_onnx::Tensor;

use crate::report::Report;

/// Compares the element types of the outputs; true if the values can be compared.
pub fn check(evaluation: &Evaluation, outputs: &[Tensor], report: &mut Report<'_>) -> bool {
    let wrong = evaluation
        .outputs
        .iter()
        .zip(outputs)
        .enumerate()
        .find(|(_, (reference, output))| reference.dtype != output.dtype());
    let Some((index, (reference, output))) = wrong else { return true };
    let detail = format!("output {index} is {} instead of {}", output.dtype(), reference.dtype);
    report.diverges(Stage::Execute, Kind::WrongDtype, detail);
    false
}
