//! What the results depend on: versions, seed, command, options.

use maud::{Markup, html};
use twinfer_case::RunInfo;

use crate::{
    Report, issue, ladder,
    numbers::{capitalized, counted},
    poison,
    summary::{budget, remarks},
    table::Table,
};

/// How the run was made, what each variant did beyond its verdicts, and the known issues.
pub fn settings(report: &Report, command: Option<&str>) -> Markup {
    html! {
        section aria-labelledby="run" {
            h2 id="run" { "About this run" }
            dl.facts {
                @if let Some(run) = &report.run { (origin(run)) }
                @if let Some(command) = command { dt { "command" } dd { code { (command) } } }
                @if let Some(command) = &report.resume { dt { "resume with" } dd { code { (command) } } }
            }
            @if let Some(title) = ladder::title(report) { (captioned(&title, &ladder::table(report))) }
            @if let Some(title) = poison::title(report) { (captioned(&title, &poison::table(report))) }
            div.variants {
                @for variant in &report.summary.variants { (details(&remarks(report, variant))) }
            }
        }
        @if !report.issues.is_empty() {
            section aria-labelledby="issues" {
                h2 id="issues" { "Known issues" }
                dl.facts { @for (word, what) in issue::descriptions(&report.issues) { dt { (word) } dd { (what) } } }
            }
        }
    }
}

fn origin(run: &RunInfo) -> Markup {
    let machine = &run.machine;
    html! {
        dt { "twinfer" } dd { (run.twinfer) }
        dt { "backends" }
        dd {
            ul.plain {
                @for info in run.variants.iter().filter(|info| info.rung_of.is_none()) {
                    li { (info.variant) " " span.quiet { (info.description.backend_version()) } }
                }
            }
        }
        @if let Some(path) = &run.checked { dt { "model or case" } dd { (path) } }
        @if !run.families.is_empty() {
            dt { "seed" } dd { (run.seed) }
            dt { "families" } dd { (run.families.join(", ")) }
            dt { "distribution" } dd { (run.distribution) }
        }
        dt { "budget" } dd { (budget(run.budget)) ", " (counted(run.jobs as u64, "job", "jobs")) }
        dt { "machine" }
        dd { (machine.os) " on " (machine.arch) ", " (counted(machine.cores as u64, "core", "cores")) }
    }
}

/// The remarks about a variant, of which the first is a heading and the others are a word, a colon and what it says.
fn details(remarks: &[String]) -> Markup {
    let split = |line: &String| {
        let (word, text) = line.split_once(": ").unwrap_or((line, ""));
        (word.trim().to_owned(), text.to_owned())
    };
    html! {
        @if let [title, remarks @ ..] = remarks {
            details.variant {
                summary { (title) }
                dl.facts { @for (word, text) in remarks.iter().map(split) { dt { (word) } dd { (text) } } }
            }
        }
    }
}

fn captioned(title: &str, table: &Table) -> Markup {
    let (head, rows) =
        table.rows().split_first().map_or((&[][..], &[][..]), |(head, rows)| (head.as_slice(), rows));
    html! {
        div.scroll tabindex="0" role="region" aria-label=(title) {
            table.numbers {
                caption { (capitalized(title)) }
                thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
