//! Comparison of variants on a model that golden does not support: each variant is compared with one of them, and a difference
//! is `disagree`, which blames no variant. The checks that need no reference run as always: `crash`, `hang`,
//! `out-of-bounds-write`, `error-logged`.

use twinfer_case::{Observation, Outcome, Stage, Variant, Verdict};

use crate::{Judgement, bounds, ending, log, report::Report, tolerance::outputs_differ};

/// What one variant did with a model that golden does not support.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The variant.
    pub variant: &'a Variant,
    /// The deepest stage that its backend reaches on this machine.
    pub reaches: Stage,
    /// What the variant did.
    pub observation: &'a Observation,
}

/// The verdict on each answer. `unknown` is why golden does not support the model: the verdict on an answer that could not be
/// compared.
pub fn judge_together(answers: &[Answer<'_>], unknown: &str) -> Vec<Judgement> {
    let baseline = baseline(answers);
    answers
        .iter()
        .enumerate()
        .map(|(place, answer)| judge_one(answers, baseline, place, answer, unknown))
        .collect()
}

fn judge_one(
    answers: &[Answer<'_>],
    baseline: Option<usize>,
    place: usize,
    answer: &Answer<'_>,
    unknown: &str,
) -> Judgement {
    let mut report = Report::new(answer.variant);
    ending::check(answer.observation, &mut report);
    bounds::check(answer.observation, &mut report);
    if let Some(baseline) = baseline.filter(|&baseline| baseline != place && report.is_clean())
        && let Some((stage, detail)) = difference(answer.observation, answers[baseline].observation)
    {
        report.disagrees(stage, format!("with {}: {detail}", answers[baseline].variant));
    }
    log::check(answer.observation, &mut report);
    let compared = answers.iter().enumerate().any(|(other, one)| other != place && is_compared(answer, one));
    let (divergences, notes) = report.into_parts();
    let verdict = if !divergences.is_empty() {
        Verdict::Diverges(divergences)
    } else if compared {
        Verdict::Conforms
    } else {
        Verdict::Unspecified(unknown.to_owned())
    };
    Judgement { verdict, notes, compared }
}

/// The answer with which the others are compared: the first with outputs, or else the first that accepted the model, or else the
/// first that ended by itself.
fn baseline(answers: &[Answer<'_>]) -> Option<usize> {
    let first = |holds: fn(&Answer<'_>) -> bool| answers.iter().position(holds);
    first(executed).or_else(|| first(accepted)).or_else(|| first(ended))
}

/// Whether `answer` is compared with `other` at the deepest stage that its backend reaches: both accepted the model, and the other
/// one went as far. Where a backend only builds, what is compared is that the model is accepted.
fn is_compared(answer: &Answer<'_>, other: &Answer<'_>) -> bool {
    if answer.reaches == Stage::Execute {
        return executed(answer) && executed(other);
    }
    let went_as_far = |one: &Answer<'_>| accepted(one) && one.observation.stage >= answer.reaches;
    went_as_far(answer) && went_as_far(other)
}

fn executed(answer: &Answer<'_>) -> bool {
    accepted(answer) && !answer.observation.runs.is_empty()
}

fn accepted(answer: &Answer<'_>) -> bool {
    answer.observation.outcome == Outcome::Ok
}

fn ended(answer: &Answer<'_>) -> bool {
    !matches!(answer.observation.outcome, Outcome::Crashed(_) | Outcome::TimedOut)
}

/// The stage in which `one` differs from `other`, and how; `other` accepted the model if any variant did.
fn difference(one: &Observation, other: &Observation) -> Option<(Stage, String)> {
    match (&one.outcome, &other.outcome) {
        (Outcome::Ok, Outcome::Ok) => runs_differ(one, other).map(|detail| (Stage::Execute, detail)),
        // a backend that stops before this stage may have refused there as well
        (Outcome::Rejected(reason) | Outcome::Failed(reason), Outcome::Ok) if one.stage <= other.stage => {
            Some((one.stage, format!("which accepts the model that is refused here: {reason}")))
        }
        _ => None,
    }
}

fn runs_differ(one: &Observation, other: &Observation) -> Option<String> {
    if !one.runs.is_empty() && one.runs.len() != other.runs.len() {
        return Some(format!("{} and {} runs", one.runs.len(), other.runs.len()));
    }
    let mut runs = one.runs.iter().zip(&other.runs).enumerate();
    runs.find_map(|(run, (one, other))| {
        outputs_differ(&one.outputs, &other.outputs).map(|detail| format!("run {run}: {detail}"))
    })
}
