//! The *causes* of a case's divergences: those that follow from one are one finding with it, the others are each their own.

use twinfer_case::{Divergence, Fallback, FallbackValues, Kind};

/// The divergences that follow from none before them, by their places.
pub fn leads(divergences: &[Divergence]) -> Vec<usize> {
    let mut leads: Vec<usize> = Vec::new();
    for (place, divergence) in divergences.iter().enumerate() {
        if !leads.iter().any(|lead| follows(&divergences[*lead], divergence)) {
            leads.push(place);
        }
    }
    leads
}

/// Whether a divergence follows from one that comes before it. A fallback brings the values that it changes, and the same
/// fallback of other operators; it follows from nothing else. Whatever else goes wrong goes wrong with what came first.
pub fn follows(lead: &Divergence, other: &Divergence) -> bool {
    match (&lead.fallback, &other.fallback) {
        (Some(lead), Some(other)) => lead.is_like(other),
        (Some(lead), None) => changes(lead) && is_of_values(other),
        (None, Some(_)) => false,
        (None, None) => true,
    }
}

fn changes(fallback: &Fallback) -> bool {
    fallback.values == FallbackValues::Changed
}

/// A coarse result is a fallback of which no layer tells.
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
    fn values_that_a_fallback_changes_are_one_finding_with_it() {
        let divergences = [fallback("Conv", FallbackValues::Changed), of(Kind::WrongValues)];
        assert_eq!(leads(&divergences), [0]);
    }

    #[test]
    fn a_fallback_hides_neither_another_nor_an_error_in_the_log() {
        let changed = fallback("Conv", FallbackValues::Changed);
        let other = fallback("ConvTranspose", FallbackValues::Changed);
        let divergences = [changed.clone(), other, of(Kind::WrongValues), of(Kind::ErrorLogged)];
        assert_eq!(leads(&divergences), [0, 1, 3]);
        assert_eq!(leads(&[changed.clone(), changed]), [0], "two operators fall back for one reason");
    }

    #[test]
    fn wrong_values_of_another_cause_do_not_hide_the_fallback_beside_them() {
        let divergences = [of(Kind::WrongValues), fallback("Conv", FallbackValues::Obscured)];
        assert_eq!(leads(&divergences), [0, 1]);
    }

    #[test]
    fn what_goes_wrong_beside_wrong_values_goes_wrong_with_them() {
        assert_eq!(leads(&[of(Kind::StateDependent), of(Kind::WrongValues), of(Kind::ErrorLogged)]), [0]);
        assert_eq!(leads(&[]), [0; 0]);
    }
}
