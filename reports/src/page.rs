use serde::Serialize;

use crate::Format;

/// Writes `page`; none for the formats that only campaigns have.
pub fn render<P: Serialize>(
    page: &P,
    format: Format,
    terminal: fn(&P) -> String,
    markdown: fn(&P) -> String,
) -> Option<String> {
    match format {
        Format::Terminal => Some(terminal(page)),
        // every key is text and every number finite, which is all that JSON asks
        Format::Json => Some(serde_json::to_string_pretty(page).unwrap_or_default() + "\n"),
        Format::Markdown => Some(markdown(page)),
        Format::Junit | Format::Html => None,
    }
}
