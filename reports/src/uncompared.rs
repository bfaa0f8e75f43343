//! What a campaign did not compare, which every format shows before anything that could be taken for a success.

use std::iter;

use crate::{Report, numbers::truncated, styled::Styled};

/// The result of a campaign in which a variant was not compared.
pub(crate) const TITLE: &str = "nothing was compared";

/// The most columns of a cause, which holds what a backend reported.
const WIDTH: usize = 500;

/// One line for each cause of each variant that was compared on no case, then the advice; empty if every variant was compared.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let mut lines = on_one_line(&report.summary.causes());
    if !lines.is_empty() {
        lines.extend(report.advice.iter().cloned());
    }
    lines
}

/// The lines below their title, for a terminal; nothing if there are none.
pub(crate) fn listed(lines: &[String]) -> Vec<Styled> {
    if lines.is_empty() {
        return Vec::new();
    }
    let causes = lines.iter().map(|line| Styled::plain(format!("      {line}")));
    iter::once(Styled::bad(TITLE)).chain(causes).chain([Styled::default()]).collect()
}

/// Each cause on one line.
pub(crate) fn on_one_line(causes: &[String]) -> Vec<String> {
    causes.iter().map(|cause| truncated(cause, WIDTH)).collect()
}
