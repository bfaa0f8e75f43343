use chrono::DateTime;
use maud::{Markup, html};
use twinfer_case::Shard;

use super::{RUNS, document, search};
use crate::{
    numbers::{count, counted},
    site::{column::Column, history::History, site_run::SiteRun},
};

/// The page of the runs: how many findings each has over time, and a table.
pub fn render(runs: &[SiteRun], histories: &[History]) -> String {
    let new = |place: usize| histories.iter().filter(|history| history.first == place).count();
    let content = html! {
        p.lead { (sentence(runs, histories)) }
        (chart(runs, &new))
        (search("runs", "Search runs"))
        div.wide tabindex="0" role="region" aria-label="Runs" {
            table id="runs" {
                thead { tr {
                    th scope="col" { "started (UTC)" } th scope="col" { "run" } th scope="col" { "backends" }
                    th.number scope="col" { "cases" } th.number scope="col" { "findings" } th.number scope="col" { "new" }
                } }
                tbody {
                    @for (place, run) in runs.iter().enumerate() {
                        tr {
                            td { (date(run.run.started)) }
                            th scope="row" { (name(run)) @if let Some(note) = note(run) { p.note { (note) } } }
                            td { (backends(run)) }
                            td.number { (count(run.cases)) }
                            td.number { (count(run.findings.len() as u64)) }
                            td.number { (count(new(place) as u64)) }
                        }
                    }
                }
            }
        }
    };
    document("Runs", RUNS, &content)
}

fn sentence(runs: &[SiteRun], histories: &[History]) -> String {
    let cases = runs.iter().map(|run| run.cases).sum();
    let fixed = histories.iter().filter(|history| history.fixed_in().is_some()).count() as u64;
    let fixed = match fixed {
        0 => String::new(),
        fixed => format!(", {} of them fixed in a later version", count(fixed)),
    };
    format!(
        "{} with {} found {}{fixed}.",
        counted(runs.len() as u64, "run", "runs"),
        counted(cases, "case", "cases"),
        counted(histories.len() as u64, "bug", "bugs"),
    )
}

/// The name of a run, which leads to its report.
pub fn name(run: &SiteRun) -> Markup {
    html! {
        @match &run.report {
            Some(report) => a href=(report) { code { (run.name) } },
            None => code { (run.name) },
        }
    }
}

/// What a reader of the run's numbers should know.
fn note(run: &SiteRun) -> Option<String> {
    let shard = (run.run.shard != Shard::WHOLE).then(|| format!("shard {} of a campaign", run.run.shard));
    let merged = run.run.merged.len() as u64;
    let merged = (merged > 0).then(|| format!("merged from {}", counted(merged, "shard", "shards")));
    let of_other_version = (run.unplaced > 0).then(|| {
        let cases = counted(run.unplaced, "case", "cases");
        format!("{cases} made by another version of twinfer or from a model: not in the support map")
    });
    let unfinished = run.run.end.is_none().then(|| "has not ended".to_owned());
    let notes: Vec<_> = shard.into_iter().chain(merged).chain(unfinished).chain(of_other_version).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn backends(run: &SiteRun) -> Markup {
    html! {
        ul.plain {
            @for info in run.run.variants.iter().filter(|info| info.rung_of.is_none()) {
                li { code { (info.variant) } " " (info.description.name) " " (Column::of(info).label()) }
            }
        }
    }
}

/// A day and a time, such as `2026-11-25 23:06`, in UTC.
pub fn date(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    time.map_or_else(|| "-".to_owned(), |time| time.format("%Y-%m-%d %H:%M").to_string())
}

/// The most bars of a chart: those of the last runs.
const BARS: usize = 120;
/// The height of the highest bar, in pixels.
const HEIGHT: f64 = 120.0;
/// The width of a bar and the gap behind it, in pixels.
const BAR: usize = 8;

/// A bar for each run: findings that earlier runs have, and above them those that are new.
fn chart(runs: &[SiteRun], new: &dyn Fn(usize) -> usize) -> Markup {
    let shown = runs.iter().enumerate().skip(runs.len().saturating_sub(BARS));
    let highest = runs.iter().map(|run| run.findings.len()).max().unwrap_or(0);
    let height = |findings: usize| HEIGHT * findings as f64 / highest.max(1) as f64;
    let width = BAR * runs.len().clamp(1, BARS);
    html! {
        @if runs.len() > 1 && highest > 0 {
            figure {
                svg.chart viewBox=(format!("0 0 {width} {HEIGHT}")) width=(width * 2) role="img"
                    aria-label=(format!("Findings by run; at most {highest}")) preserveAspectRatio="none" {
                    @for (bar, (place, run)) in shown.enumerate() {
                        @let (all, new) = (run.findings.len(), new(place));
                        g {
                            title { (date(run.run.started)) ": " (counted(all as u64, "finding", "findings")) ", new: " (new) }
                            rect.new x=(bar * BAR) width=(BAR - 1) y=(HEIGHT - height(all)) height=(height(new)) {}
                            rect.old x=(bar * BAR) width=(BAR - 1) y=(HEIGHT - height(all - new)) height=(height(all - new)) {}
                        }
                    }
                }
                figcaption {
                    "Findings by run, the last " (runs.len().min(BARS)) " runs: "
                    span.key.new {} " first seen in that run, " span.key.old {} " seen before. The highest bar is "
                    (count(highest as u64)) "."
                }
            }
        }
    }
}
