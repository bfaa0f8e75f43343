use twinfer_case::{Expectation, Kind, Note, Outcome, Stage, Verdict};
use twinfer_golden::{Entry, Evaluation, SCALE_NOT_POSITIVE};

use crate::{
    Evidence,
    acceptance::{self, Acceptance},
    bounds, determinism, dtype, ending, log, placement, precision,
    report::Report,
    shape, state, values,
};

/// What the checks conclude.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The conclusion.
    pub verdict: Verdict,
    /// Observations besides the verdict that are worth a line.
    pub notes: Vec<Note>,
    /// Whether the variant was compared with golden or another variant at the deepest stage that its backend reaches on this
    /// machine; on a case that must be refused, whether the backend decided to refuse or accept it.
    pub compared: bool,
}

/// Runs every check on the evidence. A divergence comes before those that it explains: a crash before a refusal, a write out of
/// bounds before anything that it may have changed, and a dependence on state before the wrong values that follow from it. A fallback that explains no values comes last.
pub fn judge(evidence: &Evidence<'_>) -> Judgement {
    let mut report = Report::new(evidence.variant);
    ending::check(evidence.observation, &mut report);
    bounds::check(evidence.observation, &mut report);
    let acceptance = acceptance::check(evidence, &mut report);
    determinism::check(evidence, &mut report);
    let mut has_values = false;
    if matches!(acceptance, Acceptance::Accepted) {
        state::check(evidence, &mut report);
        has_values = compare(evidence, &mut report);
        log::check(evidence.observation, &mut report);
        precision::check(evidence, has_values, &mut report);
        placement::check(evidence.observation, &mut report);
    }
    conclude(evidence, acceptance, report, has_values)
}

/// Compares every run with golden; true if the values of all runs could be compared, and there were some.
fn compare(evidence: &Evidence<'_>, report: &mut Report<'_>) -> bool {
    let observation = evidence.observation;
    let mut compared = !observation.runs.is_empty() && observation.runs.len() == evidence.references.len();
    for (run, reference) in evidence.references.iter().enumerate() {
        let Some(evaluation) = reference.as_ref().ok().filter(|evaluation| specified(evaluation)) else {
            compared = false;
            continue;
        };
        compared &= evaluation.outputs.iter().any(|output| output.shape.iter().all(|extent| *extent > 0));
        if let Some(inferred) = &observation.inferred_shapes {
            shape::check_inferred(evaluation, inferred, report);
        }
        if let Some(run) = observation.runs.get(run) {
            let outputs = &run.outputs;
            if shape::check_actual(evaluation, outputs, report) && dtype::check(evaluation, outputs, report) {
                values::check(evaluation, outputs, observation.output_filling, report);
            }
        }
        if !report.is_clean() {
            // later runs repeat the divergences of the first one
            break;
        }
    }
    compared
}

fn specified(evaluation: &Evaluation) -> bool {
    evaluation.unspecified.is_empty()
}

fn conclude(
    evidence: &Evidence<'_>,
    acceptance: Acceptance,
    report: Report<'_>,
    has_values: bool,
) -> Judgement {
    let (divergences, notes) = report.into_parts();
    let without_reference = without_reference(evidence);
    let refused = matches!(evidence.observation.outcome, Outcome::Rejected(_) | Outcome::Failed(_));
    let verdict = match (acceptance, without_reference) {
        // neither a refusal that was predicted nor an open point of the specification explains it
        _ if divergences.iter().any(|one| one.kind == Kind::OutOfBoundsWrite) => {
            Verdict::Diverges(divergences)
        }
        (Acceptance::Unsupported(rule), _) => Verdict::Unsupported(rule),
        (_, Some(verdict)) if refused || divergences.is_empty() => verdict,
        _ if refused && has_open_scale(evidence) => Verdict::Unspecified(SCALE_NOT_POSITIVE.name.to_owned()),
        _ if !divergences.is_empty() => Verdict::Diverges(divergences),
        _ if has_values && vacuous(evidence) => match open(evidence) {
            Some(entry) => Verdict::Unspecified(entry.name.to_owned()),
            None => Verdict::Vacuous,
        },
        _ => Verdict::Conforms,
    };
    let has_verdict = matches!(verdict, Verdict::Conforms | Verdict::Diverges(_));
    Judgement { compared: has_verdict && reached_the_end(evidence, has_values), verdict, notes }
}

/// Whether the backend went as far with a case as it can on this machine: refused or accepted what must be refused, or entered the
/// deepest stage that it reaches with what is valid. If that is `execute` and it succeeds, values must have been compared.
fn reached_the_end(evidence: &Evidence<'_>, has_values: bool) -> bool {
    let (observation, reaches) = (evidence.observation, evidence.description.reaches);
    match (&evidence.case.expectation, &observation.outcome) {
        (Expectation::Invalid(_), Outcome::Ok | Outcome::Rejected(_) | Outcome::Failed(_)) => true,
        (Expectation::Valid, Outcome::Ok) if reaches == Stage::Execute => has_values,
        (Expectation::Valid, _) => observation.stage >= reaches,
        (Expectation::Invalid(_), Outcome::Crashed(_) | Outcome::TimedOut) => false,
    }
}

/// The verdict if there is no reference for the whole case: the first rule that leaves part of it open, or why golden computes none.
fn without_reference(evidence: &Evidence<'_>) -> Option<Verdict> {
    evidence.references.iter().find_map(|reference| match reference {
        Ok(evaluation) => {
            evaluation.unspecified.first().map(|entry| Verdict::Unspecified(entry.name.to_owned()))
        }
        Err(unknown) => Some(Verdict::NoReference(unknown.to_string())),
    })
}

/// Whether a scale is not positive, which a backend may refuse before it knows which elements it concerns.
fn has_open_scale(evidence: &Evidence<'_>) -> bool {
    evidence.references.iter().flatten().any(|evaluation| evaluation.open.contains(&&SCALE_NOT_POSITIVE))
}

/// The first rule by which every element of every output is open; `None` if a bound is finite.
fn open(evidence: &Evidence<'_>) -> Option<&'static Entry> {
    let evaluations = || evidence.references.iter().flatten();
    let mut bounds =
        evaluations().flat_map(|evaluation| &evaluation.outputs).flat_map(|output| &output.bound);
    let is_open = bounds.all(|bound| *bound == f64::INFINITY);
    evaluations().flat_map(|evaluation| &evaluation.open).next().copied().filter(|_| is_open)
}

fn vacuous(evidence: &Evidence<'_>) -> bool {
    let mut outputs =
        evidence.references.iter().flatten().flat_map(|evaluation| &evaluation.outputs).peekable();
    outputs.peek().is_some() && outputs.all(twinfer_golden::Reference::is_vacuous)
}
