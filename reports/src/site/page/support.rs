use maud::{Markup, html};

use super::{FINDINGS, SUPPORT, document, search};
use crate::{
    numbers::{count, counted, part},
    site::{
        change::{Change, Transition},
        column::Column,
        standing::Standing,
        support_map::{Row, SupportMap},
        tally::Cell,
    },
};

/// The support map, and what changed from each version of a backend to the next.
pub fn render(map: &SupportMap, changes: &[Change]) -> String {
    let columns: Vec<_> = map.columns().map(|(column, _)| column).collect();
    let content = html! {
        p.lead {
            "What each version of a backend made of generated models. A case is one model with its inputs. A row has the cases in which a Conv or a "
            "ConvTranspose has this value of an attribute, comes from such a tensor, or stands in such a position. A case with several convolutions counts "
            "in the rows of each of them, and a case that several runs ran counts once for each run. Of a backend that was built and not executed, "
            "shapes and precision were compared and no values."
        }
        (legend())
        (versions(map, changes))
        (search("map", "Search rows"))
        p.search hidden {
            label { input type="checkbox" data-only="map"; " only rows in which something is wrong, unstable or refused" }
        }
        div.wide tabindex="0" role="region" aria-label="Support map" {
            table id="map" {
                thead { tr {
                    th scope="col" { "what a case has" }
                    @for column in &columns { th scope="col" { (heading(column)) } }
                } }
                (body(map, columns.len()))
            }
        }
    };
    document("Support map", SUPPORT, &content)
}

fn legend() -> Markup {
    html! {
        ul.legend {
            @for standing in Standing::ALL {
                li { span.key.(standing.name()) {} " " strong { (standing.name()) } ": " (standing.meaning()) }
            }
        }
    }
}

fn heading(column: &Column) -> Markup {
    html! { code { (column.line()) } br; span.version title=(column.version) { (column.label()) } }
}

/// The rows, with a heading above those of a subject.
fn body(map: &SupportMap, columns: usize) -> Markup {
    let mut subject = None;
    html! {
        tbody {
            @for (row, cells) in map.rows() {
                @if subject.replace(&row.subject) != Some(&row.subject) {
                    tr.subject { th scope="rowgroup" colspan=(columns + 1) { (row.subject) } }
                }
                (line(row, &cells))
            }
        }
    }
}

fn line(row: &Row, cells: &[Option<&Cell>]) -> Markup {
    let is_clean = |cell: &&Cell| {
        [Standing::Wrong, Standing::Unstable, Standing::Refused]
            .iter()
            .all(|standing| cell.count(*standing) == 0)
    };
    let is_clean = cells.iter().flatten().all(is_clean);
    html! {
        tr data-clean[is_clean] {
            th scope="row" { (row.attribute) ": " strong { (row.value) } }
            @for cell in cells {
                @match cell { Some(cell) => (filled(cell)), None => td.empty { "no cases" } }
            }
        }
    }
}

/// A bar with a part for each standing, what is not right in numbers, and the finding that most of it shows.
fn filled(cell: &Cell) -> Markup {
    let total = cell.total();
    let present = || Standing::ALL.into_iter().filter(|standing| cell.count(*standing) > 0);
    let words: Vec<_> =
        present().map(|standing| format!("{} {}", standing.name(), count(cell.count(standing)))).collect();
    html! {
        td {
            (bar(cell, &words.join(", ")))
            span.words {
                (counted(total, "case", "cases"))
                @for standing in present().filter(|standing| *standing != Standing::Conforms) {
                    ", " (standing.name()) " " (part(cell.count(standing), total))
                }
                @if let Some(finding) = cell.leading_finding() {
                    " " a href=(format!("{FINDINGS}#{finding}")) { "example" }
                }
            }
        }
    }
}

/// A part for each standing, as wide as its share.
fn bar(cell: &Cell, words: &str) -> Markup {
    let width = |standing| 100.0 * cell.count(standing) as f64 / cell.total().max(1) as f64;
    let mut end = 0.0;
    let parts = Standing::ALL.map(|standing| {
        let start = end;
        end += width(standing);
        (standing, start)
    });
    html! {
        svg.bar viewBox="0 0 100 1" preserveAspectRatio="none" role="img" aria-label=(words) {
            title { (words) }
            @for (standing, start) in parts.into_iter().filter(|(standing, _)| cell.count(*standing) > 0) {
                rect.(standing.name()) x=(format!("{start:.2}")) width=(format!("{:.2}", width(standing))) height="1" {}
            }
        }
    }
}

fn versions(map: &SupportMap, changes: &[Change]) -> Markup {
    html! {
        @if !changes.is_empty() {
            section {
                h2 { "From version to version" }
                @for change in changes {
                    h3 {
                        code { (change.from.line()) } " " (change.from.version.version()) " → "
                        (change.to.version.version())
                    }
                    (transitions(map, change))
                }
            }
        }
    }
}

fn transitions(map: &SupportMap, change: &Change) -> Markup {
    let common = counted(change.common, "case", "cases");
    html! {
        @if change.transitions.is_empty() {
            p { "The " (common) " that ran on both came out the same." }
        } @else {
            p { "Of " (common) " that ran on both, these changed:" }
            div.wide tabindex="0" role="region" aria-label="What changed" {
                table.changes {
                    thead { tr {
                        th.number scope="col" { "cases" } th scope="col" { "change" } th scope="col" { "what they have in common" }
                        th scope="col" { "findings" }
                    } }
                    tbody { @for transition in &change.transitions { (transition_row(map, transition)) } }
                }
            }
        }
    }
}

fn transition_row(map: &SupportMap, transition: &Transition) -> Markup {
    let Transition { was, is, cases, in_common, findings } = transition;
    html! {
        tr {
            td.number { (count(*cases)) }
            th scope="row" {
                span.key.(was.name()) {} " " (was.name()) " → " span.key.(is.name()) {} " " (is.name())
            }
            td {
                @for (place, (row, having)) in in_common.iter().enumerate() {
                    @if place > 0 { ", " }
                    @if let Some(row) = map.row(*row) {
                        (row.subject) ": " (row.attribute) " " strong { (row.value) }
                        @if having < cases { " (" (part(*having, *cases)) ")" }
                    }
                }
                @if in_common.is_empty() { "-" }
            }
            td {
                @match findings.as_slice() {
                    [] => "-",
                    [one] => (finding_link(one)),
                    several => details {
                        summary { (counted(several.len() as u64, "finding", "findings")) }
                        ul.plain { @for finding in several { li { (finding_link(finding)) } } }
                    },
                }
            }
        }
    }
}

fn finding_link(finding: &str) -> Markup {
    html! { a href=(format!("{FINDINGS}#{finding}")) { (finding) } }
}
