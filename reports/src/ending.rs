//! Whether a run ended early, which every format says.

use twinfer_case::RunEnd;

use crate::Report;

/// Why divergences of the run were not investigated.
pub(crate) fn open_reason(report: &Report) -> &'static str {
    match &report.end {
        Some(RunEnd::Complete) => "time budget exhausted",
        Some(_) => "the run ended early",
        None => "the run has not ended",
    }
}

/// What a run that did not come to its end may lack.
const MISSING: &str = "divergences that were being investigated may be missing";

/// Why the run holds fewer cases than its budget, and how to resume it; `None` if it is complete or has not begun.
pub(crate) fn sentence(report: &Report) -> Option<String> {
    let run = report.run.as_ref()?;
    let what = match &report.end {
        Some(RunEnd::Complete) => return None,
        Some(RunEnd::Partial(reason)) => format!("incomplete: {reason}"),
        Some(end @ RunEnd::Failed(_)) => format!("ended early: {end}; {MISSING}"),
        Some(end) => format!("ended early: {end}"),
        None if run.families.is_empty() => {
            // cases that were given have no generator to go on with
            "unfinished: the check is under way, or it was killed; it cannot be resumed, so check again"
                .to_owned()
        }
        None => format!("unfinished: the campaign is under way, or it was killed; {MISSING}"),
    };
    let resume = report.resume.as_ref().map(|command| format!("; resume with: {command}"));
    Some(format!("{what}{}", resume.unwrap_or_default()))
}
