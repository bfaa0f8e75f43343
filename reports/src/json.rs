use serde::Serialize;
use twinfer_case::printable_json;

/// The JSON form of `value`.
pub(crate) fn render<T: Serialize>(value: &T) -> String {
    // cannot fail: every key of a report is text and every number is finite
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    printable_json(&text).into_owned()
}
