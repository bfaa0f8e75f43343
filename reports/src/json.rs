use crate::Report;

pub(crate) fn render(report: &Report) -> String {
    // cannot fail: every key of a report is text and every number is finite
    serde_json::to_string_pretty(report).unwrap_or_default() + "\n"
}
