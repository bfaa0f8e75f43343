//! The *causes* of a case's divergences: a divergence and those that follow from it are one finding; every other divergence is
//! a finding of its own.

use twinfer_case::{Divergence, Fallback, FallbackValues, Kind};

/// The divergences that follow from no divergence before them, as places in `divergences`.
pub fn leads(divergences: &[Divergence]) -> Vec<usize> {
    let mut leads: Vec<usize> = Vec::new();
    for (place, divergence) in divergences.iter().enumerate() {
        if !leads.iter().any(|lead| follows(&divergences[*lead], divergence)) {
            leads.push(place);
        }
    }
    leads
}

/// Whether `other` follows from `lead`, which comes before it. A precision fallback causes the values that it changes and the
/// same fallback of other operators, and follows from nothing else. Any other divergence causes all others but fallbacks.
pub fn follows(lead: &Divergence, other: &Divergence) -> bool {
    match (&lead.fallback, &other.fallback) {
        (Some(lead), Some(other)) => lead.is_like(other),
        (Some(lead), None) => changes_values(lead) && is_of_values(other),
        (None, Some(_)) => false,
        (None, None) => true,
    }
}

fn changes_values(fallback: &Fallback) -> bool {
    fallback.values == FallbackValues::Changed
}

/// Whether values diverge. A `precision-fallback` without a [`Fallback`] counts: values show it, and no layer reports it.
const fn is_of_values(divergence: &Divergence) -> bool {
    matches!(divergence.kind, Kind::WrongValues | Kind::PrecisionFallback)
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Blame, FallbackReason, Stage};

    use super::*;

    fn of(kind: Kind) -> Divergence {
        let variant = "trt".parse().expect("a variant");
        Divergence::new(variant, Stage::Execute, kind, Blame::Variant, String::new())
    }

    fn fallback(operator: &str, values: FallbackValues) -> Divergence {
        let (operator, reason) = (operator.to_owned(), FallbackReason::NotFused);
        let fallback = Fallback { operator, reason, values };
        Divergence { fallback: Some(fallback), ..of(Kind::PrecisionFallback) }
    }

    #[test]
    fn values_that_a_fallback_changes_follow_from_it() {
        let divergences = [fallback("Conv", FallbackValues::Changed), of(Kind::WrongValues)];
        assert_eq!(leads(&divergences), [0]);
    }

    #[test]
    fn other_fallbacks_and_logged_errors_follow_from_no_fallback() {
        let changed = fallback("Conv", FallbackValues::Changed);
        let other = fallback("ConvTranspose", FallbackValues::Changed);
        let divergences = [changed.clone(), other, of(Kind::WrongValues), of(Kind::ErrorLogged)];
        assert_eq!(leads(&divergences), [0, 1, 3]);
        assert_eq!(leads(&[changed.clone(), changed]), [0], "two operators fall back for one reason");
    }

    #[test]
    fn a_fallback_does_not_follow_from_wrong_values() {
        let divergences = [of(Kind::WrongValues), fallback("Conv", FallbackValues::Obscured)];
        assert_eq!(leads(&divergences), [0, 1]);
    }

    #[test]
    fn divergences_without_fallback_follow_from_the_first() {
        assert_eq!(leads(&[of(Kind::StateDependent), of(Kind::WrongValues), of(Kind::ErrorLogged)]), [0]);
        assert_eq!(leads(&[]), [0; 0]);
    }
}
