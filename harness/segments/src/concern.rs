//! Which divergences a segment can be to blame for.

use twinfer_case::{Divergence, FallbackValues, Kind};

/// Whether a divergence may have a culprit: an output is wrong.
pub fn concerns_values(divergence: &Divergence) -> bool {
    let changes_values =
        divergence.fallback.as_ref().is_none_or(|fallback| fallback.values == FallbackValues::Changed);
    match divergence.kind {
        Kind::WrongValues | Kind::WrongShape | Kind::UnwrittenOutput => true,
        Kind::PrecisionFallback => changes_values,
        _ => false,
    }
}
