use maud::{Markup, html};

use super::{
    FINDINGS, MINIMAL_CASES, document,
    runs::{date, name},
    search,
};
use crate::{
    Severity,
    findings::{detail, explanation},
    meaning::meaning,
    numbers::{count, counted},
    site::{
        history::{History, Trial},
        site_run::SiteRun,
        standing::Standing,
    },
};

/// The page of the findings: when each was seen, and what became of its cases in every version.
pub fn render(runs: &[SiteRun], histories: &[History]) -> String {
    let mut ranked: Vec<_> = histories.iter().collect();
    ranked.sort_by_key(|history| (severity(history), history.slug.as_str()));
    let content = html! {
        p.lead {
            "Every bug that a run found, the most severe first. A version is listed if it ran cases that show the bug there or in another version. "
            "A bug counts as fixed in a version if all of these cases conform there and in every later version that ran them."
        }
        (search("findings", "Search findings"))
        div.wide tabindex="0" role="region" aria-label="Findings" {
            table id="findings" {
                thead { tr {
                    th scope="col" { "bug" } th scope="col" { "first seen" } th scope="col" { "last seen" }
                    th scope="col" { "by version" } th scope="col" { "fixed in" }
                } }
                tbody { @for history in ranked { (row(runs, history)) } }
            }
        }
    };
    document("Findings", FINDINGS, &content)
}

/// How much a bug matters, whether or not it was known.
fn severity(history: &History) -> Severity {
    Severity::of(&history.finding, true)
}

fn row(runs: &[SiteRun], history: &History) -> Markup {
    let History { slug, finding, first, last, trials } = history;
    html! {
        tr id=(slug) {
            th scope="row" {
                strong { (meaning(finding.kind)) } " · " (finding.signature.backend.label())
                @if severity(history) == Severity::Documented { " · documented" }
                p { (detail(finding)) }
                @if let Some(explanation) = explanation(finding) { p { "because: " (explanation) } }
                @if let Some(trigger) = &finding.trigger { p { "when: " (trigger) } }
                details { summary { "minimal model" } code { (finding.graph) } }
                p { a href=(format!("{MINIMAL_CASES}/{slug}/")) { (slug) } }
            }
            td { (seen(runs, *first)) }
            td { (seen(runs, *last)) }
            td { ul.plain { @for trial in trials { (trial_item(trial)) } } }
            td { @if let Some(fixed) = history.fixed_in() { (fixed.column.version.version()) } @else { "-" } }
        }
    }
}

fn seen(runs: &[SiteRun], place: usize) -> Markup {
    html! { @if let Some(run) = runs.get(place) { (date(run.run.started)) br; (name(run)) } }
}

fn trial_item(trial: &Trial) -> Markup {
    let Trial { column, ran, shows, .. } = trial;
    let conforms = trial.count(Standing::Conforms);
    let (class, outcome) = match (*shows, conforms) {
        (0, conforms) if conforms == *ran => {
            ("conforms", format!("conforms in {}", counted(*ran, "case", "cases")))
        }
        (0, _) => ("unspecified", format!("does not show; {}", standings(trial))),
        (shows, _) => ("wrong", format!("seen in {} of {}", count(shows), counted(*ran, "case", "cases"))),
    };
    html! {
        li title=(column.version) {
            span.key.(class) {} " " code { (column.line()) } " " strong { (column.label()) } ": " (outcome)
        }
    }
}

/// What the cases came to, such as `refused 2, wrong 1`.
fn standings(trial: &Trial) -> String {
    let counts = Standing::ALL.map(|standing| (standing, trial.count(standing)));
    let present = counts.iter().filter(|(_, cases)| *cases > 0);
    present
        .map(|(standing, cases)| format!("{} {}", standing.name(), count(*cases)))
        .collect::<Vec<_>>()
        .join(", ")
}
