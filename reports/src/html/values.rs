//! Expected and actual values side by side, and how far they differ as a heat map.

use maud::{Markup, html};
use twinfer_onnx::TensorType;

use super::{
    comparison::{Cell, Comparison},
    number::number,
};
use crate::numbers::{count, counted};

/// The number of colors for differences, beside none.
const SHADES: f64 = 7.0;

/// The comparisons, each as three grids.
pub fn values(comparisons: &[Comparison]) -> Markup {
    html! {
        @for comparison in comparisons { (one(comparison)) }
    }
}

fn one(comparison: &Comparison) -> Markup {
    let is_compared = comparison.differing.is_some();
    let largest = comparison.largest();
    html! {
        h4 { (comparison.name) }
        p.quiet { (extent(comparison)) }
        @if !comparison.rows.is_empty() {
            div.grids {
                @if comparison.expected_type.is_some() {
                    (grid(comparison, &typed("Expected by golden", comparison.expected_type.as_ref()), |cell| cell.expected, |_| 0))
                }
                @if comparison.actual_type.is_some() {
                    (grid(comparison, &typed("Actual", comparison.actual_type.as_ref()), |cell| cell.actual, |_| 0))
                }
                @if is_compared && largest > 0.0 || comparison.differing.is_some_and(|differing| differing > 0) {
                    (grid(comparison, "Difference", |cell| cell.difference, |cell| shade(cell, largest)))
                }
            }
        }
    }
}

/// Such as `3 of 1,024 elements differ; the elements 512 to 767 are shown`.
fn extent(comparison: &Comparison) -> String {
    let all = comparison.elements as u64;
    let elements = counted(all, "element", "elements");
    let differing = match (comparison.differing, &comparison.expected_type, &comparison.actual_type) {
        (Some(differing), ..) => {
            let verb = if differing == 1 && all == 1 { "differs" } else { "differ" };
            format!("{} of {elements} {verb}", count(differing as u64))
        }
        (None, Some(_), Some(_)) => format!("{elements}; the shapes differ"),
        (None, Some(_), None) => format!("{elements} expected; the backend gave no such output"),
        (None, ..) => format!("{elements}; what is expected is not known"),
    };
    let shown = &comparison.shown;
    if shown.len() < comparison.elements {
        let (first, last) = (count(shown.start as u64), count(shown.end.saturating_sub(1) as u64));
        return match shown.len() {
            0 => format!("{differing}; none are shown, because the page shows many already"),
            _ => format!("{differing}; the elements {first} to {last} are shown, counted from 0"),
        };
    }
    differing
}

fn typed(title: &str, of: Option<&TensorType>) -> String {
    of.map_or_else(|| title.to_owned(), |of| format!("{title}, {of}"))
}

fn grid(
    comparison: &Comparison,
    title: &str,
    value: fn(&Cell) -> Option<f64>,
    shade: impl Fn(&Cell) -> usize,
) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(title) {
            table.grid {
                caption { (title) }
                @for row in &comparison.rows {
                    tr {
                        th scope="row" { (index(&row.index)) }
                        @for cell in &row.cells {
                            td.{ "h" (shade(cell)) } { (value(cell).map(number).unwrap_or_default()) }
                        }
                    }
                }
            }
        }
    }
}

/// The place of the first element of a row.
fn index(index: &[usize]) -> String {
    let parts: Vec<_> = index.iter().map(ToString::to_string).collect();
    format!("[{}]", parts.join(","))
}

/// The color of a difference: 0 for none, and the strongest for the largest and for what is no number.
fn shade(cell: &Cell, largest: f64) -> usize {
    match cell.difference {
        None | Some(0.0) => 0,
        Some(size) if size.is_finite() && largest > 0.0 => {
            (1.0 + (SHADES - 1.0) * (size / largest)).round() as usize
        }
        Some(_) => SHADES as usize,
    }
}
