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
        runs_differ((evaluation, evaluation), first, other).map(|detail| format!("run {run}: {detail}"))
    })
}

/// How the outputs of two runs with the same inputs differ beyond what is allowed; `None` if they do not. What golden evaluates for
/// each differs in its bounds alone.
pub fn runs_differ(
    (golden, golden_for_other): (&Evaluation, &Evaluation),
    first: &RunOutput,
    other: &RunOutput,
) -> Option<String> {
    let references = golden.outputs.iter().zip(&golden_for_other.outputs);
    references.zip(first.outputs.iter().zip(&other.outputs)).find_map(|(references, (first, other))| {
        if first == other {
            return None;
        }
        if first.shape != other.shape || first.dtype() != other.dtype() {
            return Some(format!("{:?} and {:?}", first.shape, other.shape));
        }
        elements_differ(references, first, other)
    })
}

fn elements_differ(references: (&Reference, &Reference), first: &Tensor, other: &Tensor) -> Option<String> {
    let (first, other) = (first.to_f64(), other.to_f64());
    let place = (0..first.len()).find(|&place| !compatible(references, place, first[place], other[place]))?;
    Some(format!("element {place} is {} and {}", first[place], other[place]))
}

#[expect(clippy::float_cmp, reason = "equal is equal")]
fn compatible((one, another): (&Reference, &Reference), place: usize, first: f64, other: f64) -> bool {
    if first == other || first.is_nan() && other.is_nan() {
        return true;
    }
    let (Some(&one), Some(&another)) = (one.bound.get(place), another.bound.get(place)) else { return true };
    one + another == f64::INFINITY || (first - other).abs() <= one + another
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
