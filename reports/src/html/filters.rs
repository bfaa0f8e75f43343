//! The controls that filter findings. The script shows them; without it all findings are listed.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::words::short;
use crate::{
    ReportedFinding, Severity,
    numbers::{count, counted},
};

/// What findings are filtered by: the name in the address, the label, and the value of a finding.
pub type Filter = (&'static str, &'static str, fn(&ReportedFinding) -> String);

/// All filters, in order.
pub const FILTERS: [Filter; 5] = [
    ("severity", "Severity", |found| found.severity().title().to_owned()),
    ("backend", "Backend", |found| found.finding.signature.backend.to_string()),
    ("kind", "Kind", |found| found.finding.kind.to_string()),
    ("family", "Family", |found| family(found).to_owned()),
    ("status", "Status", |found| status(found).to_owned()),
];

/// The family of the case that first showed a finding.
pub fn family(found: &ReportedFinding) -> &str {
    found.finding.provenance.as_ref().map_or("none", |provenance| provenance.family.as_str())
}

/// Whether a finding is new.
pub const fn status(found: &ReportedFinding) -> &'static str {
    if found.new { "new" } else { "known" }
}

/// The controls for these findings, and how many are shown.
pub fn filters(findings: &[&ReportedFinding]) -> Markup {
    let all = counted(findings.len() as u64, "finding", "findings");
    html! {
        form.filters id="filters" role="search" aria-label="Filter findings" hidden {
            label.search {
                span { "Search" }
                input type="search" name="text" autocomplete="off" placeholder="Name, model, message";
            }
            @for filter in FILTERS { (choice(findings, filter)) }
            button type="reset" { "Clear" }
        }
        p.count id="count" aria-live="polite" { (all) }
        p.none id="none" hidden { "No finding matches. Clear the filters to see all of them." }
    }
}

/// A list of the values that occur, with the number of findings that have each; nothing if all have the same.
fn choice(findings: &[&ReportedFinding], (name, label, value): Filter) -> Markup {
    let mut values: BTreeMap<(usize, String), u64> = BTreeMap::new();
    for found in findings {
        let place = if name == "severity" { rank(found.severity()) } else { 0 };
        *values.entry((place, value(found))).or_default() += 1;
    }
    html! {
        label {
            span { (label) }
            select name=(name) {
                option value="" { "all" }
                @for ((_, value), findings) in &values {
                    option value=(value) { (short(value)) " (" (count(*findings)) ")" }
                }
            }
        }
    }
}

fn rank(severity: Severity) -> usize {
    Severity::ALL.iter().position(|other| *other == severity).unwrap_or(0)
}
