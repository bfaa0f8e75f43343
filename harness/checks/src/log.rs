//! A call that succeeds logs no error: `error-logged`.

use twinfer_case::{Kind, Outcome, Severity};

use crate::{Evidence, report::Report};

pub fn check(evidence: &Evidence<'_>, report: &mut Report<'_>) {
    if evidence.observation.outcome != Outcome::Ok {
        return;
    }
    let error = evidence.observation.log.iter().find(|line| line.severity >= Severity::Error);
    if let Some(line) = error {
        report.diverges(line.stage, Kind::ErrorLogged, line.text.clone());
    }
}
