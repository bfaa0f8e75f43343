//! The same case gives the same result again: `nondeterministic`.
//!
//! Backends may choose another algorithm each time, so a difference counts if golden allows only one of the two results, or
//! if the results are further apart than two conforming ones can be.

use twinfer_case::{Kind, Observation, Outcome, RunOutput};
use twinfer_golden::{Evaluation, Reference};
use twinfer_onnx::Tensor;

use crate::{Evidence, report::Report};

pub fn check(evidence: &Evidence<'_>, report: &mut Report<'_>) {
    let Some(repeat) = evidence.repeat else { return };
    if let Some(detail) = difference(evidence, repeat) {
        report.diverges(evidence.observation.stage, Kind::Nondeterministic, detail);
    }
}

/// How two observations of one case differ beyond what is allowed; `None` if they do not.
pub fn difference(evidence: &Evidence<'_>, other: &Observation) -> Option<String> {
    let first = evidence.observation;
    if ending(&first.outcome) != ending(&other.outcome) || first.stage != other.stage {
        return Some(format!(
            "{} in {} the first time, {} in {} the second",
            ending(&first.outcome),
            first.stage,
            ending(&other.outcome),
            other.stage
        ));
    }
    let runs = first.runs.iter().zip(&other.runs).zip(evidence.references);
    runs.enumerate().find_map(|(run, ((first, other), reference))| {
        let evaluation = reference.as_ref().ok()?;
        runs_differ(evaluation, first, other).map(|detail| format!("run {run}: {detail}"))
    })
}

/// How the outputs of two runs with the same inputs differ beyond what is allowed; `None` if they do not.
pub fn runs_differ(evaluation: &Evaluation, first: &RunOutput, other: &RunOutput) -> Option<String> {
    evaluation.outputs.iter().zip(first.outputs.iter().zip(&other.outputs)).find_map(
        |(reference, (first, other))| {
            if first == other {
                return None;
            }
            if first.shape != other.shape || first.dtype() != other.dtype() {
                return Some(format!("{:?} and {:?}", first.shape, other.shape));
            }
            elements_differ(reference, first, other)
        },
    )
}

fn elements_differ(reference: &Reference, first: &Tensor, other: &Tensor) -> Option<String> {
    let (first, other) = (first.to_f64(), other.to_f64());
    let place = (0..first.len()).find(|&place| !compatible(reference, place, first[place], other[place]))?;
    Some(format!("element {place} is {} and {}", first[place], other[place]))
}

#[expect(clippy::float_cmp, reason = "equal is equal")]
fn compatible(reference: &Reference, place: usize, first: f64, other: f64) -> bool {
    if first == other || first.is_nan() && other.is_nan() {
        return true;
    }
    let Some(&bound) = reference.bound.get(place) else { return true };
    bound == f64::INFINITY || (first - other).abs() <= 2.0 * bound
}

const fn ending(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Rejected(_) => "rejected",
        Outcome::Failed(_) => "failed",
        Outcome::Crashed(_) => "crashed",
        Outcome::TimedOut => "timed out",
    }
}
