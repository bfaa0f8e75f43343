//! The worker survived and kept its deadlines: `crash`, `hang`.

use twinfer_case::{Kind, Outcome};

use crate::{Evidence, report::Report};

pub fn check(evidence: &Evidence<'_>, report: &mut Report<'_>) {
    let stage = evidence.observation.stage;
    match &evidence.observation.outcome {
        Outcome::Crashed(status) => {
            let words = evidence.observation.log.last().map(|line| format!(": {}", line.text));
            let detail = format!("the worker died of {status} in {stage}{}", words.unwrap_or_default());
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
