//! Comparison of variants on a model that golden does not support: each variant is compared with one of them, and a difference
//! is `disagree`, which blames no variant. The checks that need no reference run as always: `crash`, `hang`,
//! `out-of-bounds-write`, `error-logged`, and the note on where nodes ran.

use std::collections::BTreeMap;

use twinfer_case::{Disagreement, Kind, Observation, Outcome, OutputDifference, Stage, Variant, Verdict};

use crate::{
    Judgement, OutputSource, bounds, ending, log, placement,
    report::Report,
    shape::compatible_shapes,
    tolerance::{differing_outputs, outputs_differ},
};

/// What one variant did with a model that golden does not support.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The variant.
    pub variant: &'a Variant,
    /// The deepest stage that its backend reaches on this machine.
    pub reaches: Stage,
    /// What the variant did.
    pub observation: &'a Observation,
    /// What the variant did when it was asked the same again.
    pub repeats: Vec<&'a Observation>,
}

/// How the answers of one variant to the same question differ.
enum OwnDifference {
    /// By no more than two variants may.
    Slight(String),
    /// By more: a comparison with another variant means nothing.
    Large(String),
}

/// How an answer differs from that of another variant.
struct OtherDifference {
    stage: Stage,
    detail: String,
    /// The outputs that differ; `None` if something else does.
    disagreement: Option<Disagreement>,
}

/// What variants are asked: to run a model that golden does not support.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Why golden does not support the model: the verdict on an answer that could not be compared.
    pub unknown: &'a str,
    /// What the model's outputs come from, in order; those that are left out are computed.
    pub sources: &'a [OutputSource],
    /// What a refusal of the model means.
    pub refusals: Refusals,
}

/// What it means if one variant refuses a model that another one accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusals {
    /// They disagree.
    #[default]
    Disagree,
    /// Nothing: the model is of an operator set that backends need not know.
    Open,
}

/// The verdict on each answer.
pub fn judge_together(answers: &[Answer<'_>], question: Question<'_>) -> Vec<Judgement> {
    let own: Vec<_> = answers.iter().map(|answer| own_difference(answer, question.sources)).collect();
    let baseline = baseline(answers, &own);
    let together = Together { answers, own: &own, baseline, question };
    (0..answers.len()).map(|place| together.judge(place)).collect()
}

/// All answers to one question.
struct Together<'a> {
    answers: &'a [Answer<'a>],
    /// How each variant differs from itself; `None` if it does not.
    own: &'a [Option<OwnDifference>],
    baseline: Option<usize>,
    question: Question<'a>,
}

impl Together<'_> {
    fn judge(&self, place: usize) -> Judgement {
        let answer = &self.answers[place];
        let mut report = Report::new(answer.variant);
        ending::check(answer.observation, &mut report);
        bounds::check(answer.observation, &mut report);
        if report.is_clean() {
            self.compare(place, &mut report);
        }
        log::check(answer.observation, &mut report);
        placement::check(answer.observation, &mut report);
        let compared = self.is_compared(place);
        let (divergences, notes) = report.into_parts();
        let verdict = if !divergences.is_empty() {
            Verdict::Diverges(divergences)
        } else if let Some(entry) = self.open_values().filter(|_| compared && executed(answer)) {
            return Judgement { verdict: Verdict::Unspecified(entry.to_owned()), notes, compared: false };
        } else if compared {
            Verdict::Conforms
        } else {
            Verdict::NoReference(self.question.unknown.to_owned())
        };
        Judgement { verdict, notes, compared }
    }

    /// Whether an answer is compared with that of another variant, and both agree with themselves.
    fn is_compared(&self, place: usize) -> bool {
        let (answer, is_steady) = (&self.answers[place], |place: usize| is_steady(self.own[place].as_ref()));
        let mut others = self.answers.iter().enumerate().filter(|(other, _)| *other != place);
        is_steady(place) && others.any(|(place, other)| is_steady(place) && is_compared(answer, other))
    }

    /// Compares an answer with the other answers of its variant, and then with that of another variant.
    fn compare(&self, place: usize, report: &mut Report<'_>) {
        let answer = &self.answers[place];
        let with_other = self
            .baseline
            .filter(|&baseline| baseline != place)
            .and_then(|baseline| difference(answer, &self.answers[baseline], self.question));
        let nondeterministic = |detail: &String, report: &mut Report<'_>| {
            report.diverges(Stage::Execute, Kind::Nondeterministic, detail.clone());
        };
        match (&self.own[place], with_other) {
            (Some(OwnDifference::Large(detail)), _) => nondeterministic(detail, report),
            (own, Some(OtherDifference { stage, detail, disagreement })) => {
                if let Some(OwnDifference::Slight(detail)) = own {
                    nondeterministic(detail, report);
                }
                report.disagrees(stage, detail, disagreement);
            }
            (_, None) => {}
        }
    }

    /// The rule by which the values of all outputs are open; `None` if those of one at least are not.
    fn open_values(&self) -> Option<&'static str> {
        let entry = |source: &OutputSource| match source {
            OutputSource::Random(entry) => Some(entry.name),
            _ => None,
        };
        self.question.sources.iter().map(entry).reduce(Option::and).flatten()
    }
}

/// How the answers of a variant differ in any bit that does not depend on random numbers; `None` if they do not.
fn own_difference(answer: &Answer<'_>, sources: &[OutputSource]) -> Option<OwnDifference> {
    let executed = |one: &&&Observation| one.outcome == Outcome::Ok;
    let repeats = answer.repeats.iter().filter(executed).filter(|_| executed(&&answer.observation));
    let differences: Vec<_> = repeats
        .filter_map(|repeat| {
            let detail = |detail| format!("asked twice: {detail}");
            match runs_differ(answer.observation, repeat, sources) {
                Some(large) => Some(OwnDifference::Large(detail(large))),
                None => {
                    Some(OwnDifference::Slight(detail(bits_differ(answer.observation, repeat, sources)?)))
                }
            }
        })
        .collect();
    differences.into_iter().reduce(|one, other| match other {
        OwnDifference::Large(_) if matches!(one, OwnDifference::Slight(_)) => other,
        _ => one,
    })
}

/// Where two observations have different bits in outputs that should agree.
fn bits_differ(one: &Observation, other: &Observation, sources: &[OutputSource]) -> Option<String> {
    one.runs.iter().zip(&other.runs).enumerate().find_map(|(run, (one, other))| {
        let outputs = one.outputs.iter().zip(&other.outputs).enumerate();
        let mut fixed =
            outputs.filter(|(output, _)| sources.get(*output).is_none_or(OutputSource::is_comparable));
        let (output, (one, other)) =
            fixed.find(|(_, (one, other))| one.to_le_bytes() != other.to_le_bytes())?;
        let (one, other) = (one.to_f64(), other.to_f64());
        let place = one.iter().zip(&other).position(|(one, other)| one.to_bits() != other.to_bits())?;
        Some(format!("run {run}: output {output}: element {place} is {} and {}", one[place], other[place]))
    })
}

/// The answer with which the others are compared, of a variant that agrees with itself: the first with outputs, or else the first that accepted the model, or else the
/// first that ended by itself.
fn baseline(answers: &[Answer<'_>], own: &[Option<OwnDifference>]) -> Option<usize> {
    let first = |holds: fn(&Answer<'_>) -> bool| {
        answers.iter().zip(own).position(|(answer, own)| holds(answer) && is_steady(own.as_ref()))
    };
    first(executed).or_else(|| first(accepted)).or_else(|| first(ended))
}

/// Whether a variant agrees with itself as far as two variants have to agree.
const fn is_steady(own: Option<&OwnDifference>) -> bool {
    !matches!(own, Some(OwnDifference::Large(_)))
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

/// How `answer` differs from `with`, in the stage in which it does, with the value of `answer` first; `with` accepted the model if any variant
/// did.
fn difference(answer: &Answer<'_>, with: &Answer<'_>, question: Question<'_>) -> Option<OtherDifference> {
    let (one, other) = (answer.observation, with.observation);
    match (&one.outcome, &other.outcome) {
        (Outcome::Ok, Outcome::Ok) => {
            let between = |detail| format!("between {} and {}: {detail}", answer.variant, with.variant);
            let of_outputs = || {
                let detail = between(runs_differ(one, other, question.sources)?);
                let disagreement = disagreement(answer, with, question.sources);
                Some(OtherDifference { stage: Stage::Execute, detail, disagreement })
            };
            let of_shapes = || {
                let detail = between(inferred_differ(one, other)?);
                Some(OtherDifference { stage: Stage::Parse, detail, disagreement: None })
            };
            of_outputs().or_else(of_shapes)
        }
        (Outcome::Rejected(_) | Outcome::Failed(_), Outcome::Ok) if question.refusals == Refusals::Open => {
            None
        }
        // a backend that stops before this stage may have refused there as well
        (Outcome::Rejected(reason) | Outcome::Failed(reason), Outcome::Ok) if one.stage <= other.stage => {
            let (refuses, accepts) = (answer.variant, with.variant);
            let detail = format!("{accepts} accepts the model, and {refuses} refuses it: {reason}");
            Some(OtherDifference { stage: one.stage, detail, disagreement: None })
        }
        _ => None,
    }
}

/// The outputs in which `answer` differs from `with`; `None` if the numbers of runs or outputs differ.
fn disagreement(answer: &Answer<'_>, with: &Answer<'_>, sources: &[OutputSource]) -> Option<Disagreement> {
    let (runs, others) = (&answer.observation.runs, &with.observation.runs);
    let mut runs = runs.iter().zip(others).filter(|_| runs.len() == others.len());
    let mut largest: BTreeMap<usize, Option<f64>> = BTreeMap::new();
    let are_as_many = runs.all(|(one, other)| {
        for (output, difference) in differing_outputs(&one.outputs, &other.outputs, sources) {
            let largest = largest.entry(output).or_insert(difference);
            *largest = largest.zip(difference).map(|(one, other)| one.max(other));
        }
        one.outputs.len() == other.outputs.len()
    });
    let outputs: Vec<_> =
        largest.into_iter().map(|(output, difference)| OutputDifference { output, difference }).collect();
    let with = with.variant.clone();
    (are_as_many && !outputs.is_empty()).then_some(Disagreement { with, outputs })
}

/// Whether the outputs of two observations are as close as those of two variants may be.
pub fn outputs_agree(one: &Observation, other: &Observation, sources: &[OutputSource]) -> bool {
    one.runs.len() == other.runs.len() && runs_differ(one, other, sources).is_none()
}

fn runs_differ(one: &Observation, other: &Observation, sources: &[OutputSource]) -> Option<String> {
    if !one.runs.is_empty() && one.runs.len() != other.runs.len() {
        return Some(format!("{} and {} runs", one.runs.len(), other.runs.len()));
    }
    let mut runs = one.runs.iter().zip(&other.runs).enumerate();
    runs.find_map(|(run, (one, other))| {
        outputs_differ(&one.outputs, &other.outputs, sources).map(|detail| format!("run {run}: {detail}"))
    })
}

/// How the shapes that `one` inferred differ from those of `other`'s outputs or, if it computed none, from those it inferred;
/// `None` if `one` computed outputs, which have been compared.
fn inferred_differ(one: &Observation, other: &Observation) -> Option<String> {
    let inferred = one.inferred_shapes.as_ref().filter(|_| one.runs.is_empty())?;
    let others = match other.runs.first() {
        Some(run) => run
            .outputs
            .iter()
            .map(|output| output.shape.iter().map(|&extent| extent as i64).collect())
            .collect(),
        None => other.inferred_shapes.clone()?,
    };
    let mut pairs = inferred.iter().zip(&others).enumerate();
    let (output, (one, other)) = pairs.find(|(_, (one, other))| !compatible_shapes(one, other))?;
    Some(format!("the shape of output {output} is inferred as {one:?} and is {other:?}"))
}
