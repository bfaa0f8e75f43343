use crate::Report;

pub(crate) fn render(report: &Report) -> String {
    // every key of a report is text and every number finite, which is all that JSON asks
    serde_json::to_string_pretty(report).unwrap_or_default() + "\n"
}
