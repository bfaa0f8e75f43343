//! A call that succeeds logs no error: `error-logged`.

use twinfer_case::{Kind, Observation, Outcome, Severity};

use crate::report::Report;

pub fn check(observation: &Observation, report: &mut Report<'_>) {
    if observation.outcome != Outcome::Ok {
        return;
    }
    let error = observation.log.iter().find(|line| line.severity >= Severity::Error);
    if let Some(line) = error {
        report.diverges(line.stage, Kind::ErrorLogged, line.text.clone());
    }
}
