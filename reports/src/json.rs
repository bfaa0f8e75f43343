use serde::{Serialize, Serializer};
use twinfer_case::{Finding, printable_json};

use crate::{ReportedFinding, Severity};

/// The JSON form of `value`.
pub(crate) fn render<T: Serialize>(value: &T) -> String {
    // cannot fail: every key of a report is text and every number is finite
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    printable_json(&text).into_owned()
}

/// The findings, the most severe first.
pub(crate) fn findings<S: Serializer>(
    findings: &[ReportedFinding],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut ranked: Vec<_> = findings.iter().map(Ranked::of).collect();
    ranked.sort_by(|one, other| (one.severity, one.slug).cmp(&(other.severity, other.slug)));
    serializer.collect_seq(ranked)
}

/// A finding with how severe it is.
#[derive(Serialize)]
struct Ranked<'a> {
    slug: &'a str,
    severity: Severity,
    new: bool,
    finding: &'a Finding,
}

impl<'a> Ranked<'a> {
    fn of(found: &'a ReportedFinding) -> Self {
        let ReportedFinding { slug, new, finding } = found;
        Self { slug, severity: Severity::of(found), new: *new, finding }
    }
}
