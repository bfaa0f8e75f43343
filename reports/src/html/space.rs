//! The values of attributes that cases had, as a heat map.

use maud::{Markup, html};

use crate::{
    AttributeCoverage,
    coverage::{CoveredAttribute, CoveredValue},
    numbers::{count, counted, part},
};

/// The number of colors, beside that of what never occurred.
const SHADES: u64 = 6;

/// Every attribute with its values in a run of so many `cases`, the frequent ones dark; nothing if no operator has attributes.
pub fn space(coverage: &AttributeCoverage, cases: u64) -> Markup {
    html! {
        @if coverage.operators > 0 {
            section aria-labelledby="space" {
                h2 id="space" { "What was generated" }
                p.quiet { (summary(coverage, cases)) }
                div.space { @for attribute in &coverage.attributes { (one(attribute, coverage.operators)) } }
            }
        }
    }
}

fn summary(coverage: &AttributeCoverage, all: u64) -> String {
    let AttributeCoverage { cases, operators, pairs, possible_pairs, .. } = coverage;
    let counted_cases = if *cases < all {
        format!("The first {} of {}", count(*cases), counted(all, "case", "cases"))
    } else {
        counted(*cases, "case", "cases")
    };
    format!(
        "{counted_cases} with {}: how often each attribute has each value, and how many of these are in cases that differ (in parentheses). \
         {} of {} possible pairs of values occur together.",
        counted(*operators, "convolution", "convolutions"),
        count(*pairs),
        count(*possible_pairs)
    )
}

fn one(attribute: &CoveredAttribute, all: u64) -> Markup {
    html! {
        div.attribute {
            h3 { (attribute.name) }
            ul { @for value in &attribute.values { (cell(value, all)) } }
        }
    }
}

fn cell(value: &CoveredValue, all: u64) -> Markup {
    let CoveredValue { name, operators, differing } = value;
    html! {
        li.{ "c" (shade(*operators, all)) } title={ (part(*operators, all)) " of convolutions" } {
            span.value { (name) }
            @if *operators == 0 { span.amount { "never" } } @else {
                span.amount { (count(*operators)) @if *differing > 0 { " (" (count(*differing)) ")" } }
            }
        }
    }
}

/// The color of a number: 0 for none, and one more for every time that it doubles up to all.
fn shade(operators: u64, all: u64) -> u64 {
    if operators == 0 {
        return 0;
    }
    let halvings = (all / operators).max(1).ilog2();
    SHADES.saturating_sub(u64::from(halvings)).max(1)
}

#[cfg(test)]
mod tests {
    use super::shade;

    #[test]
    fn shades_grow_with_each_doubling() {
        assert_eq!(
            [0, 1, 60, 120, 250, 500, 1000].map(|operators| shade(operators, 1000)),
            [0, 1, 2, 3, 4, 5, 6]
        );
    }
}
