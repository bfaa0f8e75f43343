use serde::Serialize;
use twinfer_case::printable_json;

use crate::{Report, headline::headline};

/// The JSON form of a report.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    headline: String,
    #[serde(flatten)]
    report: &'a Report,
}

impl<'a> Document<'a> {
    /// The report with its headline before it.
    pub fn of(report: &'a Report) -> Self {
        Self { headline: headline(report), report }
    }
}

/// The JSON form of `value`.
pub(crate) fn render<T: Serialize>(value: &T) -> String {
    // cannot fail: every key of a report is text and every number is finite
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    printable_json(&text).into_owned()
}
