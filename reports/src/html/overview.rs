//! The head of the page: what the run came to, and what it did not compare.

use maud::{Markup, html};

use crate::{
    Report, ending,
    headline::headline,
    numbers::capitalized,
    summary::{disabled, left_out, not_reproduced, processor, replaced, sentence},
    uncompared,
};

/// The headline, the size of the run, and what went wrong with it.
pub fn overview(report: &Report) -> Markup {
    let uncompared = uncompared::lines(report);
    html! {
        header {
            p.brand { "twinfer" }
            h1 { (capitalized(&headline(report))) }
            @if !uncompared.is_empty() {
                div.alert {
                    ul { @for line in &uncompared { li { (line) } } }
                }
            }
            p.lead { (sentence(report)) }
            @if let Some(early) = ending::sentence(report) { p.alert role="note" { (early) } }
            @for device in disabled(report) { p.alert { (device) } }
            @for sentence in left_out(report).chain(replaced(report)).chain(not_reproduced(report)).chain(processor(report)) { p.quiet { (sentence) } }
        }
    }
}
