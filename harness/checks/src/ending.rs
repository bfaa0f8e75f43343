//! The worker survives and meets its deadlines: `crash`, `hang`.

use twinfer_case::{Kind, Observation, Outcome};

use crate::report::Report;

pub fn check(observation: &Observation, report: &mut Report<'_>) {
    let stage = observation.stage;
    match &observation.outcome {
        Outcome::Crashed(status) => {
            let words = observation.log.last().map(|line| format!(": {}", line.text));
            let detail = format!("the worker ended with {status} in {stage}{}", words.unwrap_or_default());
            report.diverges(stage, Kind::Crash, detail);
        }
        Outcome::TimedOut => {
            report.diverges(
                stage,
                Kind::Hang,
                format!("the worker did not leave {stage} before its deadline"),
            );
        }
        Outcome::Ok | Outcome::Rejected(_) | Outcome::Failed(_) => {}
    }
}
