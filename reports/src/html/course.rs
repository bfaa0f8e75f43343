//! How a run went from its first case to its last: the share of cases that differ, and the findings so far.

use std::fmt::Write;

use maud::{Markup, html};

use crate::{
    Timeline,
    numbers::{count, counted, part},
};

/// The height of a chart, in its own units.
const HEIGHT: f64 = 100.0;

/// Two charts over the numbers of cases; nothing for a run of few cases.
pub fn course(timeline: &Timeline) -> Markup {
    html! {
        @if timeline.end() >= FEWEST {
            section aria-labelledby="course" {
                h2 id="course" { "The course of the run" }
                div.charts {
                    (differing(timeline))
                    (findings(timeline))
                }
            }
        }
    }
}

/// The fewest cases of which a chart says something.
const FEWEST: u64 = 16;

/// The fewest findings of which half says something.
const FEWEST_FINDINGS: usize = 4;

/// The share of cases that differ, span by span.
fn differing(timeline: &Timeline) -> Markup {
    let share = |differs: u64, cases: u64| if cases == 0 { 0.0 } else { differs as f64 / cases as f64 };
    let spans = timeline.spans();
    let highest = spans.iter().map(|span| share(span.differs, span.cases())).fold(0.0, f64::max);
    let (differs, cases) =
        spans.iter().fold((0, 0), |sum, span| (sum.0 + span.differs, sum.1 + span.cases()));
    let length = timeline.span_length();
    let each = if length > 1 { format!("; each bar is {} cases", count(length)) } else { String::new() };
    let summary = format!("{} of {}{each}", part(differs, cases), counted(cases, "case", "cases"));
    let plot = html! {
        @for (place, span) in spans.iter().enumerate() {
            @let height = if highest > 0.0 { HEIGHT * share(span.differs, span.cases()) / highest } else { 0.0 };
            @if height > 0.0 {
                rect.differs x=(place as u64 * length) y=(rounded(HEIGHT - height)) width=(length) height=(rounded(height)) {
                    title { "from case " (count(place as u64 * length)) ": " (count(span.differs)) " of " (count(span.cases())) }
                }
            }
        }
    };
    figure(timeline, "Share of cases that differ", &summary, &percent(highest), &plot)
}

/// The number of findings that cases have shown so far.
fn findings(timeline: &Timeline) -> Markup {
    let discoveries = timeline.discoveries();
    let all = discoveries.len();
    let unit = if all == 0 { 0.0 } else { HEIGHT / all as f64 };
    let mut path = format!("M0 {HEIGHT}");
    for (place, number) in discoveries.iter().enumerate() {
        // writing to a string cannot fail
        let _ = write!(path, "H{number}V{}", rounded(HEIGHT - unit * (place + 1) as f64));
    }
    let _ = write!(path, "H{}V{HEIGHT}Z", timeline.end());
    let middle = discoveries.get(all.saturating_sub(1) / 2).filter(|_| all >= FEWEST_FINDINGS);
    let half = middle.map(|number| format!(", half of them by case {}", count(*number)));
    let summary = format!("{}{}", counted(all as u64, "finding", "findings"), half.unwrap_or_default());
    figure(timeline, "Findings shown so far", &summary, &count(all as u64), &html! { path.steps d=(path) {} })
}

/// A chart over the numbers of cases whose highest value is `highest`.
fn figure(timeline: &Timeline, title: &str, summary: &str, highest: &str, plot: &Markup) -> Markup {
    html! {
        figure.chart {
            figcaption { strong { (title) } " " span.quiet { (summary) } }
            div.plot {
                span.highest { (highest) }
                svg role="img" aria-label={ (title) ": " (summary) } preserveAspectRatio="none"
                    viewBox={ "0 0 " (timeline.end().max(1)) " " (HEIGHT) } { (plot) }
            }
            p.axis { span { "case 0" } span { (count(timeline.end().saturating_sub(1))) } }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

fn rounded(length: f64) -> f64 {
    (length * 100.0).round() / 100.0
}
