//! Disagreement of variants on a case that golden does not decide, which blames no variant.

use twinfer_case::{Observation, Outcome};
use twinfer_golden::{Evaluation, Reference};
use twinfer_onnx::Tensor;

use crate::{References, determinism::runs_differ, tolerance::outputs_differ};

/// How two variants differ on a case that golden does not decide, each given with what golden computes for its arithmetic; `None` if
/// golden decides it, if the variants agree, or if one of them refused the case.
pub fn disagreement(
    (references, one): (&References, &Observation),
    (references_of_other, other): (&References, &Observation),
) -> Option<String> {
    let undecided = |reference: &Result<Evaluation, _>| {
        reference.as_ref().map_or(true, |evaluation| !evaluation.unspecified.is_empty())
    };
    if one.outcome != Outcome::Ok || other.outcome != Outcome::Ok || !references.iter().any(undecided) {
        return None;
    }
    let references = references.iter().zip(references_of_other);
    let runs = one.runs.iter().zip(&other.runs).zip(references).enumerate();
    let mut runs = runs.filter(|(_, (_, (reference, _)))| undecided(reference));
    runs.find_map(|(run, ((one, other), references))| {
        let detail = match references {
            (Ok(of_one), Ok(of_other)) if applies(of_one, &one.outputs) => {
                runs_differ((of_one, of_other), one, other)
            }
            _ => outputs_differ(&one.outputs, &other.outputs, &[]),
        };
        detail.map(|detail| format!("run {run}: {detail}"))
    })
}

/// Whether golden's bounds apply to outputs of these shapes.
fn applies(evaluation: &Evaluation, outputs: &[Tensor]) -> bool {
    let same = |(reference, output): (&Reference, &Tensor)| reference.shape == output.shape;
    evaluation.outputs.len() == outputs.len() && evaluation.outputs.iter().zip(outputs).all(same)
}
