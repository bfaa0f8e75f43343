//! Where golden has no answer that all must meet, variants are compared with each other, and nobody is blamed.

use twinfer_case::{Observation, Outcome};
use twinfer_golden::{Evaluation, Reference};
use twinfer_onnx::Tensor;

use crate::{References, determinism::runs_differ, tolerance::outputs_differ};

/// In what way two variants' answers to a case differ that golden cannot decide; `None` where it can, where they agree,
/// or where one of them refused.
pub fn disagreement(references: &References, one: &Observation, other: &Observation) -> Option<String> {
    let undecided = |reference: &Result<Evaluation, _>| {
        reference.as_ref().map_or(true, |evaluation| !evaluation.unspecified.is_empty())
    };
    if one.outcome != Outcome::Ok || other.outcome != Outcome::Ok || !references.iter().any(undecided) {
        return None;
    }
    let runs = one.runs.iter().zip(&other.runs).zip(references).enumerate();
    runs.filter(|(_, (_, reference))| undecided(reference)).find_map(|(run, ((one, other), reference))| {
        let detail = match reference {
            Ok(evaluation) if applies(evaluation, &one.outputs) => runs_differ(evaluation, one, other),
            _ => outputs_differ(&one.outputs, &other.outputs),
        };
        detail.map(|detail| format!("run {run}: {detail}"))
    })
}

/// Whether golden's bounds are for outputs of these shapes.
fn applies(evaluation: &Evaluation, outputs: &[Tensor]) -> bool {
    let same = |(reference, output): (&Reference, &Tensor)| reference.shape == output.shape;
    evaluation.outputs.len() == outputs.len() && evaluation.outputs.iter().zip(outputs).all(same)
}
