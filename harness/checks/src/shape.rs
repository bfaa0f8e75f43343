//! Every output has the shape that the ONNX shape rules give it, both as inferred and as computed: `wrong-shape`.

use twinfer_case::{Kind, Stage};
use twinfer_golden::Evaluation;
use twinfer_onnx::Tensor;

use crate::report::Report;

/// Compares the shapes that the backend inferred before running; −1 stands for an extent that the backend does not know yet.
pub fn check_inferred(evaluation: &Evaluation, inferred: &[Vec<i64>], report: &mut Report<'_>) {
    let wrong = evaluation
        .outputs
        .iter()
        .zip(inferred)
        .enumerate()
        .find(|(_, (reference, inferred))| !compatible(&reference.shape, inferred));
    if let Some((index, (reference, inferred))) = wrong {
        let detail = format!("output {index} is inferred as {inferred:?} instead of {:?}", reference.shape);
        report.diverges(Stage::Parse, Kind::WrongShape, detail);
    }
}

/// Compares the shapes of the outputs; true if the values can be compared.
pub fn check_actual(evaluation: &Evaluation, outputs: &[Tensor], report: &mut Report<'_>) -> bool {
    if evaluation.outputs.len() != outputs.len() {
        let detail = format!("{} outputs instead of {}", outputs.len(), evaluation.outputs.len());
        report.diverges(Stage::Execute, Kind::WrongShape, detail);
        return false;
    }
    let wrong = evaluation
        .outputs
        .iter()
        .zip(outputs)
        .enumerate()
        .find(|(_, (reference, output))| reference.shape != output.shape);
    let Some((index, (reference, output))) = wrong else { return true };
    let detail = format!("output {index} is {:?} instead of {:?}", output.shape, reference.shape);
    report.diverges(Stage::Execute, Kind::WrongShape, detail);
    false
}

fn compatible(shape: &[usize], inferred: &[i64]) -> bool {
    let shape: Vec<_> = shape.iter().map(|&extent| extent as i64).collect();
    compatible_shapes(&shape, inferred)
}

/// Whether two shapes may be the same; −1 stands for an extent that is not known.
pub fn compatible_shapes(one: &[i64], other: &[i64]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| *one < 0 || *other < 0 || one == other)
}
