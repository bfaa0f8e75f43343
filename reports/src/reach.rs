//! How far a variant goes, beside every number of a variant that does not execute.

use twinfer_case::{Reach, VariantSummary};

/// A variant in a table of numbers, such as `trt-rtx (built, not executed)`.
pub(crate) fn label(variant: &VariantSummary) -> String {
    format!("{}{}", variant.variant, remark(variant.reaches))
}

/// What follows a number or a name, such as ` (built, not executed)`; empty for a variant that executes.
pub(crate) fn remark(reach: Reach) -> String {
    if reach == Reach::Executed { String::new() } else { format!(" ({reach})") }
}
