//! That a run ended early, which every format says.

use twinfer_case::RunEnd;

use crate::Report;

/// Why the run holds fewer cases than its budget, and how to resume it; `None` if it is complete or has not begun.
pub(crate) fn sentence(report: &Report) -> Option<String> {
    report.run.as_ref()?;
    let what = match &report.end {
        Some(RunEnd::Complete) => return None,
        Some(end) => format!("ended early: {end}"),
        None => "unfinished: the run goes on, or its process was killed".to_owned(),
    };
    let resume = report.resume.as_ref().map(|command| format!("; resume with: {command}"));
    Some(format!("{what}{}", resume.unwrap_or_default()))
}
