//! How far a variant goes, beside every number of a variant that does not execute.

use twinfer_case::{Reach, Variant, VariantSummary};

use crate::numbers::middle_left_out;

/// The most columns of the name of a variant in a table.
const COLUMNS: usize = 48;

/// A variant in a table, such as `trt-rtx (built, not executed)`.
pub(crate) fn label(variant: &VariantSummary) -> String {
    name(&variant.variant) + &remark(variant.reaches)
}

/// A variant in a table: of a long name, such as that of an external program, the beginning and the end.
pub(crate) fn name(variant: &Variant) -> String {
    middle_left_out(&variant.to_string(), COLUMNS)
}

/// What follows a number or a name, such as ` (built, not executed)`; empty for a variant that executes.
pub(crate) fn remark(reach: Reach) -> String {
    if reach == Reach::Executed { String::new() } else { format!(" ({reach})") }
}
