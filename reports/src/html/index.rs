//! The table of findings: a group of rows each, the second of which opens to everything about the finding.

use maud::{Markup, html};
use twinfer_case::Finding;

use super::{
    address,
    evidence::{Budget, RunFolder},
    filters::{FILTERS, family, filters, status},
    finding::everything,
    words::short,
};
use crate::{
    Report, ReportedFinding, Severity,
    findings::detail,
    meaning::meaning,
    numbers::{capitalized, count, counted, truncated},
    summary::findings_title,
};

/// The columns, and the class of those that narrow screens leave out. Roles are written out, because browsers take a table that narrow
/// screens show as blocks for no table otherwise.
const COLUMNS: [(&str, &str); 7] = [
    ("Severity", ""),
    ("Finding", ""),
    ("Backend", "wide"),
    ("Kind", "wide"),
    ("Family", "wide"),
    ("Cases", "number"),
    ("Status", "wide"),
];

/// The most characters of the line about a finding.
const LINE: usize = 160;
/// The most characters of a model below the title.
const MODEL: usize = 100;

/// The findings, the most severe first.
pub fn index(report: &Report, folder: Option<&RunFolder>) -> Markup {
    let (ranked, budget) = (report.ranked(), Budget::of_page());
    html! {
        @if let Some(title) = findings_title(report) {
            section aria-labelledby="findings-title" {
                h2 id="findings-title" { (capitalized(&title)) }
                @if !ranked.is_empty() {
                    (filters(&ranked))
                    table.findings id="findings" role="table" aria-describedby="count" {
                        thead role="rowgroup" {
                            tr role="row" {
                                @for (title, class) in COLUMNS { th.(class) scope="col" role="columnheader" { (title) } }
                            }
                        }
                        @for found in &ranked { (group(report, found, folder, &budget)) }
                    }
                }
                (known(report))
            }
        }
    }
}

fn group(report: &Report, found: &ReportedFinding, folder: Option<&RunFolder>, budget: &Budget) -> Markup {
    let ReportedFinding { slug, finding, .. } = found;
    let severity = found.severity();
    let [of_severity, backend, kind, of_family, of_status] = FILTERS.map(|(_, _, value)| value(found));
    html! {
        tbody role="rowgroup" id=(address::id(slug)) data-severity=(of_severity) data-backend=(backend) data-kind=(kind)
            data-family=(of_family) data-status=(of_status) {
            tr.head role="row" {
                td role="cell" { span.badge.(tone(severity)) { (severity.title()) } }
                th scope="row" role="rowheader" {
                    a href=(address::within_page(slug)) { (title(finding)) }
                    @if finding.trigger.is_none() { span.condition { (truncated(&finding.graph, MODEL)) } }
                    span.slug { (slug) }
                }
                td.wide role="cell" { (short(&backend)) }
                td.wide role="cell" { (kind) }
                td.wide role="cell" { (family(found)) }
                td.number role="cell" data-unit=(if report.cases_of(slug) == 1 { "case" } else { "cases" }) { (count(report.cases_of(slug))) }
                td.wide role="cell" { (status(found)) }
            }
            tr.body role="row" {
                td role="cell" colspan=(COLUMNS.len()) {
                    details {
                        summary { (truncated(&detail(finding), LINE)) }
                        (everything(report, found, folder, budget))
                    }
                }
            }
        }
    }
}

/// What the backend does, and when it does so, or with which operator, if that is known.
fn title(finding: &Finding) -> String {
    let meaning = capitalized(meaning(finding.kind));
    match &finding.trigger {
        Some(trigger) => {
            let when = trigger.remark().unwrap_or_else(|| trigger.operator.clone());
            truncated(&format!("{meaning}: {when}"), LINE)
        }
        None => meaning,
    }
}

/// The class of a severity's color.
pub const fn tone(severity: Severity) -> &'static str {
    match severity {
        Severity::WrongValues | Severity::Broken => "grave",
        Severity::Unsteady | Severity::Disagreement | Severity::Refusal | Severity::Leniency => "serious",
        Severity::Unconfirmed | Severity::Precision | Severity::Logged => "mild",
        Severity::Documented | Severity::Known => "calm",
    }
}

/// The findings that were known before and of which only cases are recorded.
fn known(report: &Report) -> Markup {
    html! {
        @if report.known_by_name().next().is_some() {
            h3 { "Known findings seen again" }
            ul.known {
                @for count_of in report.known_by_name() {
                    li { code { (count_of.slug) } " " span.quiet { (counted(count_of.cases, "case", "cases")) } }
                }
            }
        }
    }
}
