//! A model that golden does not know: variants are compared with one of them, and a difference is `disagree`, for which
//! nobody is blamed. What needs no reference is held against its variant as always: `crash`, `hang`, `error-logged`.

use twinfer_case::{Observation, Outcome, Stage, Variant, Verdict};

use crate::{Judgement, ending, log, report::Report, tolerance::outputs_differ};

/// What one variant did with a model that golden does not know.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Which variant.
    pub variant: &'a Variant,
    /// What it did.
    pub observation: &'a Observation,
}

/// The verdict of each answer; `unknown` is why golden has none, and the verdict of one that was compared with nothing.
pub fn judge_together(answers: &[Answer<'_>], unknown: &str) -> Vec<Judgement> {
    let yardstick = yardstick(answers);
    answers
        .iter()
        .enumerate()
        .map(|(place, answer)| judge_one(answers, yardstick, place, answer, unknown))
        .collect()
}

fn judge_one(
    answers: &[Answer<'_>],
    yardstick: Option<usize>,
    place: usize,
    answer: &Answer<'_>,
    unknown: &str,
) -> Judgement {
    let mut report = Report::new(answer.variant);
    ending::check(answer.observation, &mut report);
    if let Some(yardstick) = yardstick.filter(|&yardstick| yardstick != place && report.is_clean())
        && let Some((stage, detail)) = difference(answer.observation, answers[yardstick].observation)
    {
        report.disagrees(stage, format!("with {}: {detail}", answers[yardstick].variant));
    }
    log::check(answer.observation, &mut report);
    let compared = executed(answer) && answers.iter().filter(|answer| executed(answer)).count() > 1;
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

/// The answer that the others are compared with: the first that has outputs, else that took the model, else that ended
/// by itself.
fn yardstick(answers: &[Answer<'_>]) -> Option<usize> {
    let first = |holds: fn(&Answer<'_>) -> bool| answers.iter().position(holds);
    first(executed).or_else(|| first(took)).or_else(|| first(ended))
}

fn executed(answer: &Answer<'_>) -> bool {
    took(answer) && !answer.observation.runs.is_empty()
}

fn took(answer: &Answer<'_>) -> bool {
    answer.observation.outcome == Outcome::Ok
}

fn ended(answer: &Answer<'_>) -> bool {
    !matches!(answer.observation.outcome, Outcome::Crashed(_) | Outcome::TimedOut)
}

/// In which stage and in what way `one` differs from `other`, which took the model if any variant did.
fn difference(one: &Observation, other: &Observation) -> Option<(Stage, String)> {
    match (&one.outcome, &other.outcome) {
        (Outcome::Ok, Outcome::Ok) => runs_differ(one, other).map(|detail| (Stage::Execute, detail)),
        // a backend that stops before this stage may have refused there as well
        (Outcome::Rejected(reason) | Outcome::Failed(reason), Outcome::Ok) if one.stage <= other.stage => {
            Some((one.stage, format!("which takes what is refused here: {reason}")))
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
