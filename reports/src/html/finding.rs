//! Everything about one finding.

use maud::{Markup, html};
use twinfer_store::findings_of;

use super::{address::of_file, evidence::RunFolder, words::detail};
use crate::{Report, ReportedFinding, findings, numbers::count, shell_word};

/// The facts about a finding, and what to do with it.
pub fn everything(report: &Report, found: &ReportedFinding, folder: Option<&RunFolder>) -> Markup {
    html! {
        div.finding {
            (facts(report, found))
            @if let Some(folder) = folder {
                (commands(&found.slug, folder))
                (files(&found.slug, folder))
            }
        }
    }
}

fn facts(report: &Report, found: &ReportedFinding) -> Markup {
    let ReportedFinding { slug, finding, .. } = found;
    html! {
        dl.facts {
            dt { (finding.kind) } dd { (detail(finding)) }
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

fn commands(slug: &str, folder: &RunFolder) -> Markup {
    let path = findings_of(&folder.path).join(slug);
    let path = shell_word(&path.to_string_lossy());
    html! {
        h3 { "Commands" }
        dl.facts {
            dt { "does it still show?" } dd { code { "twinfer replay " (path) } }
            dt { "a bug report that does not need twinfer" } dd { code { "twinfer repro " (path) " --out bug" } }
        }
    }
}

fn files(slug: &str, folder: &RunFolder) -> Markup {
    let path = findings_of(&folder.from_page).join(slug);
    html! {
        h3 { "Files" }
        p { a href=(of_file(&path)) { (path.display()) } }
    }
}
