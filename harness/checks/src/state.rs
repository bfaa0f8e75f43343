//! The result does not depend on what ran before: `state-dependent`.
//!
//! Two runs of one case with the same inputs (A, B, A) give the same outputs, and so do a warm worker and a fresh one.

use twinfer_case::{Kind, Stage};

use crate::{
    Evidence,
    determinism::{difference, runs_differ},
    report::Report,
};

pub fn check(evidence: &Evidence<'_>, report: &mut Report<'_>) {
    if let Some(detail) = within_case(evidence) {
        report.diverges(Stage::Execute, Kind::StateDependent, detail);
    } else if let Some(detail) = evidence.fresh.and_then(|fresh| difference(evidence, fresh)) {
        let detail = format!("a warm and a fresh worker differ: {detail}");
        report.diverges(evidence.observation.stage, Kind::StateDependent, detail);
    }
}

fn within_case(evidence: &Evidence<'_>) -> Option<String> {
    let runs = &evidence.case.runs;
    let outputs = &evidence.observation.runs;
    let completed = runs.len().min(outputs.len());
    (0..completed).find_map(|later| {
        let earlier = (0..later).find(|&earlier| runs[earlier] == runs[later])?;
        let evaluation = evidence.references.get(later)?.as_ref().ok()?;
        let detail = runs_differ((evaluation, evaluation), &outputs[earlier], &outputs[later])?;
        Some(format!("runs {earlier} and {later} have the same inputs: {detail}"))
    })
}
