use serde::Serialize;

use crate::Format;

/// Renders `page`; `None` for `JUnit` and HTML, which only a campaign report has.
pub fn render<P: Serialize>(
    page: &P,
    format: Format,
    terminal: fn(&P) -> String,
    markdown: fn(&P) -> String,
) -> Option<String> {
    match format {
        Format::Terminal => Some(terminal(page)),
        // cannot fail: every key is text and every number is finite
        Format::Json => Some(serde_json::to_string_pretty(page).unwrap_or_default() + "\n"),
        Format::Markdown => Some(markdown(page)),
        Format::Junit | Format::Html => None,
    }
}
