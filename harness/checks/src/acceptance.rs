//! Valid graphs are accepted and invalid ones refused: `rejects-valid`, `build-failure`, `accepts-invalid`.

use twinfer_case::{Capability, Expectation, Kind, Note, Observation, Outcome, Stage};

use crate::{Evidence, report::Report};

/// Whether the variant accepted the graph.
pub enum Acceptance {
    /// The variant accepted a valid graph: there may be outputs to compare.
    Accepted,
    /// The variant refused the graph as a named rule predicts.
    Unsupported(String),
    /// There is nothing to compare.
    Settled,
}

pub fn check(evidence: &Evidence<'_>, report: &mut Report<'_>) -> Acceptance {
    match &evidence.case.expectation {
        Expectation::Valid => valid(evidence, report),
        Expectation::Invalid(rule) => invalid(evidence, rule, report),
    }
}

fn valid(evidence: &Evidence<'_>, report: &mut Report<'_>) -> Acceptance {
    let mut predicted = evidence.description.refusals(&evidence.case.graph);
    let Observation { stage, outcome, .. } = evidence.observation;
    let (kind, error) = match outcome {
        Outcome::Ok => {
            if let Some(capability) = predicted.find(|capability| !capability.refuses.is_vacuous()) {
                report.note(Note::AcceptedDespite(capability.rule.clone()));
            }
            return Acceptance::Accepted;
        }
        Outcome::Failed(error) if *stage == Stage::Build => (Kind::BuildFailure, error),
        Outcome::Rejected(error) | Outcome::Failed(error) => (Kind::RejectsValid, error),
        Outcome::Crashed(_) | Outcome::TimedOut => return Acceptance::Settled,
    };
    if let Some(capability) = predicted.find(|capability| capability.shows.matches(*stage, outcome)) {
        return Acceptance::Unsupported(capability.rule.clone());
    }
    report.diverges(*stage, kind, error.message().to_owned());
    Acceptance::Settled
}

fn invalid(evidence: &Evidence<'_>, rule: &str, report: &mut Report<'_>) -> Acceptance {
    if let Some(capability) = refused_for_another_reason(evidence) {
        return Acceptance::Unsupported(capability.rule.clone());
    }
    if evidence.observation.outcome == Outcome::Ok {
        report.accepts(evidence.observation.stage, rule);
    }
    Acceptance::Settled
}

/// The rule that predicts how the graph was refused, if that says nothing about the broken rule: the graph was not even loaded, or the
/// error is the one that the rule names.
fn refused_for_another_reason<'a>(evidence: &Evidence<'a>) -> Option<&'a Capability> {
    let Observation { stage, outcome, .. } = evidence.observation;
    let mut predicted = evidence.description.refusals(&evidence.case.graph);
    predicted.find(|Capability { shows, .. }| {
        shows.matches(*stage, outcome) && (*stage == Stage::Load || shows.words.is_some())
    })
}
