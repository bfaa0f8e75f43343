use serde::Serialize;

use crate::{Format, json};

/// Renders `page`; `None` for `JUnit` and HTML, which only a campaign report has.
pub fn render<P: Serialize>(
    page: &P,
    format: Format,
    terminal: fn(&P) -> String,
    markdown: fn(&P) -> String,
) -> Option<String> {
    match format {
        Format::Terminal => Some(terminal(page)),
        Format::Json => Some(json::render(page)),
        Format::Markdown => Some(markdown(page)),
        Format::Junit | Format::Html => None,
    }
}
