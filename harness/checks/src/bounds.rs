//! No guard byte behind a block of memory is changed: `out-of-bounds-write`.

use twinfer_case::{Kind, Observation};

use crate::report::Report;

/// Whatever the outcome: a backend that refuses a graph must not write where it may not either.
pub fn check(observation: &Observation, report: &mut Report<'_>) {
    let [first, others @ ..] = observation.out_of_bounds.as_slice() else { return };
    let more = match others.len() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    report.diverges(first.stage, Kind::OutOfBoundsWrite, format!("{first}{more}"));
}
