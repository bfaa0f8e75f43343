//! Everything about one finding.

use maud::{Markup, html};
use twinfer_case::Finding;
use twinfer_store::findings_of;

use super::{
    address::of_file,
    evidence::{Budget, Evidence, RunFolder},
    graph::graph,
    values::values,
};
use crate::{Report, ReportedFinding, findings, numbers::count, shell_word};

/// The facts about a finding, its graph and values, and what to do with it.
pub fn everything(
    report: &Report,
    found: &ReportedFinding,
    folder: Option<&RunFolder>,
    budget: &Budget,
) -> Markup {
    let slug = &found.slug;
    let stored = folder.and_then(|folder| Some((folder, folder.finding(slug)?)));
    html! {
        div.finding {
            (facts(report, found))
            @if let Some((folder, path)) = &stored {
                (evidence(slug, &Evidence::read(path, budget), folder))
                (commands(&found.finding, &shell_word(&path.to_string_lossy())))
            }
        }
    }
}

fn facts(report: &Report, found: &ReportedFinding) -> Markup {
    let ReportedFinding { slug, finding, .. } = found;
    html! {
        dl.facts {
            dt { (finding.kind) } dd { (findings::detail(finding)) }
            dt { "severity" } dd { (found.severity().title()) }
            @for (word, sentence) in findings::reasons(report, finding) { dt { (word) } dd { (sentence) } }
            dt { "model" } dd { code { (finding.graph) } }
            dt { "seen in" }
            dd { ul.plain { @for seen in &finding.seen_in { li { (seen.variant) " " span.quiet { (seen.version) } } } } }
            dt { "size" } dd { (findings::sizes(finding)) }
            dt { "cases" } dd { (count(report.cases_of(slug))) }
        }
    }
}

fn evidence(slug: &str, Evidence { picture, comparisons, files }: &Evidence, folder: &RunFolder) -> Markup {
    html! {
        @if let Some(picture) = picture {
            div.picture {
                h3 { "Minimal graph" }
                (graph(picture, slug))
            }
        }
        @if !comparisons.is_empty() {
            h3 { "Values" }
            (values(comparisons))
        }
        @if !files.is_empty() {
            h3 { "Files" }
            ul.files {
                @for file in files {
                    li { a href=(of_file(&findings_of(&folder.from_page).join(file))) { (in_folder(slug, file)) } }
                }
            }
        }
    }
}

/// A file as it is named in the list: without the folder that all files of the finding share.
fn in_folder(slug: &str, file: &std::path::Path) -> String {
    file.strip_prefix(slug).unwrap_or(file).to_string_lossy().into_owned()
}

/// What to run for a finding. The outputs of its case do not show a value that is wrong only inside, so `replay` and `repro` would not either.
fn commands(finding: &Finding, path: &str) -> Markup {
    html! {
        h3 { "Commands" }
        dl.facts {
            @if finding.only_inside {
                dt { "run it again" } dd { code { "twinfer check " (path) } }
            } @else {
                dt { "run it again" } dd { code { "twinfer replay " (path) } }
                dt { "write a bug report" } dd { code { "twinfer repro " (path) " --out bug" } }
            }
        }
    }
}
