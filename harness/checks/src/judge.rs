use twinfer_case::{Kind, Note, Outcome, Verdict};
use twinfer_golden::Evaluation;

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
    /// Whether outputs were computed and every run of them compared with golden.
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
    let mut compared = false;
    if matches!(acceptance, Acceptance::Accepted) {
        state::check(evidence, &mut report);
        compared = compare(evidence, &mut report);
        log::check(evidence.observation, &mut report);
        precision::check(evidence, compared, &mut report);
        placement::check(evidence, &mut report);
    }
    conclude(evidence, acceptance, report, compared)
}

/// Compares every run with golden; true if all runs could be compared.
fn compare(evidence: &Evidence<'_>, report: &mut Report<'_>) -> bool {
    let observation = evidence.observation;
    let mut compared = !observation.runs.is_empty() && observation.runs.len() == evidence.references.len();
    for (run, reference) in evidence.references.iter().enumerate() {
        let Some(evaluation) = reference.as_ref().ok().filter(|evaluation| specified(evaluation)) else {
            compared = false;
            continue;
        };
        if let Some(inferred) = &observation.inferred_shapes {
            shape::check_inferred(evaluation, inferred, report);
        }
        if let Some(run) = observation.runs.get(run) {
            let outputs = &run.outputs;
            if shape::check_actual(evaluation, outputs, report) && dtype::check(evaluation, outputs, report) {
                values::check(evaluation, outputs, report);
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
    compared: bool,
) -> Judgement {
    let (divergences, notes) = report.into_parts();
    let unspecified = unspecified(evidence);
    let refused = matches!(evidence.observation.outcome, Outcome::Rejected(_) | Outcome::Failed(_));
    let verdict = match (acceptance, unspecified) {
        // neither a refusal that was predicted nor an open point of the specification explains it
        _ if divergences.iter().any(|one| one.kind == Kind::OutOfBoundsWrite) => {
            Verdict::Diverges(divergences)
        }
        (Acceptance::Unsupported(rule), _) => Verdict::Unsupported(rule),
        (_, Some(entry)) if refused || divergences.is_empty() => Verdict::Unspecified(entry),
        _ if !divergences.is_empty() => Verdict::Diverges(divergences),
        _ if compared && vacuous(evidence) => Verdict::Vacuous,
        _ => Verdict::Conforms,
    };
    Judgement { verdict, notes, compared }
}

/// The name of the first rule that leaves part of the case unspecified, or why golden does not support the case; `None` if the
/// whole case is specified.
fn unspecified(evidence: &Evidence<'_>) -> Option<String> {
    evidence.references.iter().find_map(|reference| match reference {
        Ok(evaluation) => evaluation.unspecified.first().map(|entry| entry.name.to_owned()),
        Err(unknown) => Some(unknown.to_string()),
    })
}

fn vacuous(evidence: &Evidence<'_>) -> bool {
    let mut outputs =
        evidence.references.iter().flatten().flat_map(|evaluation| &evaluation.outputs).peekable();
    outputs.peek().is_some() && outputs.all(twinfer_golden::Reference::is_vacuous)
}
