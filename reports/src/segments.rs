//! What was judged segment by segment, and what no comparison can see.

use twinfer_case::{BlindSegment, Blindness, Magnitude, OpenPlace, VariantSummary};

use crate::numbers::{count, counted, counts};

/// The errors that comparisons of outputs cannot see, such as `errors below 0.4 in outputs of at most 16 (the worst of 2 cases)`;
/// empty if every comparison sees errors that are small in proportion to its output.
pub(crate) fn unseen(variant: &VariantSummary) -> String {
    let Some(blindest) = variant.blindest else { return String::new() };
    let below = below(blindest);
    let cases = match variant.blind {
        1 => String::new(),
        several => format!(" (the worst of {})", counted(several, "case", "cases")),
    };
    format!("{below} in outputs of at most {}{cases}", Magnitude(blindest.largest))
}

/// The errors that comparisons of segments cannot see, such as `errors below 0.02 in outputs of at most 1.5, at "conv3" (Conv)`; empty if each
/// sees errors that are small in proportion to its output.
pub(crate) fn unseen_in_segments(variant: &VariantSummary) -> String {
    let Some(BlindSegment { node, blindness }) = &variant.blindest_segment else { return String::new() };
    format!("{} in outputs of at most {}, at {node}", below(*blindness), Magnitude(blindness.largest))
}

/// Whether any value conforms in some elements, as far as the comparison goes furthest: that of segments if there are any.
pub(crate) fn has_open_elements(variant: &VariantSummary) -> bool {
    let blindest = match variant.segments {
        0 => variant.blindest,
        _ => variant.blindest_segment.as_ref().map(|segment| segment.blindness),
    };
    blindest.is_some_and(|blindness| blindness.below.is_none())
}

fn below(blindness: Blindness) -> String {
    match blindness.below {
        Some(below) => format!("errors below {}", Magnitude(below)),
        None => "errors of any size".to_owned(),
    }
}

/// Where cases are wrong that were not investigated, each such as `node "conv3" (Conv); only inside this model; 2 cases; output 0: ...`.
pub(crate) fn open(variant: &VariantSummary) -> impl Iterator<Item = String> {
    variant.open_at.iter().map(|OpenPlace { culprit, detail, cases }| {
        format!("{culprit}; {}; {detail}", counted(*cases, "case", "cases"))
    })
}

/// The segments that were judged, such as `24 in 3 cases, each judged by itself`; empty if none was.
pub(crate) fn judged(variant: &VariantSummary) -> String {
    if variant.segments == 0 {
        return String::new();
    }
    let cases = counted(variant.segmented, "case", "cases");
    format!("{} in {cases}, each judged by itself", count(variant.segments))
}

/// The nodes that no judged segment covers, by the reason.
pub(crate) fn not_judged(variant: &VariantSummary) -> String {
    counts(&variant.not_judged)
}
