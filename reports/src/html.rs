use maud::{DOCTYPE, Markup, html};
use twinfer_case::printable;

use crate::{
    Report, ReportedFinding, ending, findings, issue, ladder,
    numbers::count,
    poison,
    summary::{findings_title, remarks, sentence, verdicts},
    table::Table,
    uncompared,
};

const STYLE: &str = include_str!("report.css");

pub(crate) fn render(report: &Report) -> String {
    let findings = findings_title(report);
    let title = format!("twinfer: {}", findings.as_deref().unwrap_or(uncompared::TITLE));
    let uncompared = uncompared::lines(report);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (maud::PreEscaped(STYLE)) }
            }
            body {
                h1 { "twinfer" }
                p { (sentence(report)) }
                @if let Some(early) = ending::sentence(report) { p { strong { (early) } } }
                (table(&verdicts(report)))
                @if let Some(title) = ladder::title(report) {
                    p { (title) }
                    (table(&ladder::table(report)))
                }
                @if let Some(title) = poison::title(report) {
                    p { (title) }
                    (table(&poison::table(report)))
                }
                @for variant in &report.summary.variants {
                    p { @for line in remarks(report, variant) { (line) br; } }
                }
                @if !uncompared.is_empty() {
                    h2 { (uncompared::TITLE) }
                    p { @for line in &uncompared { (line) br; } }
                }
                @if let Some(findings) = &findings { h2 { (findings) } }
                @for finding in report.ranked() { (one_finding(report, finding)) }
                @if !report.issues.is_empty() {
                    h2 { "Known issues" }
                    dl { @for (word, what) in issue::descriptions(&report.issues) { dt { (word) } dd { (what) } } }
                }
            }
        }
    };
    printable(&(page.into_string() + "\n")).into_owned()
}

fn table(table: &Table) -> Markup {
    html! {
        table {
            @for (index, row) in table.rows().iter().enumerate() {
                tr {
                    @for cell in row {
                        @if index == 0 { th { (cell) } } @else { td { (cell) } }
                    }
                }
            }
        }
    }
}

fn one_finding(report: &Report, ReportedFinding { slug, new, finding }: &ReportedFinding) -> Markup {
    html! {
        section class=(if *new { "new" } else { "known" }) {
            h3 { (slug) }
            code { (finding.graph) }
            dl {
                dt { (finding.kind) } dd { (findings::detail(finding)) }
                @for (word, sentence) in findings::reasons(report, finding) {
                    dt { (word) } dd { (sentence) }
                }
                dt { "seen in" } dd { (findings::seen_in(finding)) }
                dt { "size" } dd { (findings::sizes(finding)) }
                dt { "cases" } dd { (count(report.cases_of(slug))) }
            }
        }
    }
}
