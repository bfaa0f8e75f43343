//! Whether wrong values follow from a precision fallback.

use twinfer_case::{Diagnosis, Divergence, FallbackValues, Kind};
use twinfer_golden::{Combination, Mutant, Nature};

/// Distinguishes wrong values that a fallback causes from wrong values that merely occur beside one. An operator that runs on
/// floats leaves out quantization, or computes coarsely: if that explains the values, the fallback is their cause and comes
/// first. Otherwise the wrong values come first, and it is unknown what the fallback does to values.
pub fn settle(divergences: &mut [Divergence], diagnosis: &Diagnosis) {
    if diagnosis.mutant_names().any(follows_from_fallback) {
        return;
    }
    for divergence in divergences.iter_mut() {
        if let Some(fallback) = &mut divergence.fallback {
            if let Some(before) = divergence.detail.strip_suffix(fallback.values.clause()) {
                divergence.detail = format!("{before}{}", FallbackValues::Obscured.clause());
            }
            fallback.values = FallbackValues::Obscured;
        }
    }
    divergences.sort_by_key(|divergence| match divergence.kind {
        Kind::PrecisionFallback if divergence.fallback.is_some() => 1,
        _ => 0,
    });
}

fn follows_from_fallback(name: &str) -> bool {
    use Mutant::{ActivationsUnquantized, ResultsUnquantized, WeightsUnquantized};
    let follows = |mutant: &Mutant| {
        matches!(mutant, WeightsUnquantized | ActivationsUnquantized | ResultsUnquantized)
            || mutant.nature() == Nature::Precision
    };
    Combination::from_name(name).is_some_and(|combination| combination.mutants.iter().all(follows))
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Blame, Fallback, FallbackReason, ReproducingMutant, Stage};

    use super::*;

    fn divergences() -> Vec<Divergence> {
        let of = |kind| {
            let variant = "trt".parse().expect("a variant");
            Divergence::new(variant, Stage::Execute, kind, Blame::Variant, String::new())
        };
        let fallback = Fallback {
            operator: "Conv".to_owned(),
            reason: FallbackReason::ChannelsPerGroup,
            values: FallbackValues::Changed,
        };
        let of_precision = Divergence { fallback: Some(fallback), ..of(Kind::PrecisionFallback) };
        vec![of_precision, of(Kind::WrongValues)]
    }

    fn settled(mutants: &[Mutant]) -> Vec<(Kind, Option<FallbackValues>)> {
        let explanation =
            |mutant: &Mutant| ReproducingMutant { name: mutant.name().to_owned(), clause: String::new() };
        let explanations = mutants.iter().map(explanation).collect();
        let mut divergences = divergences();
        settle(&mut divergences, &Diagnosis { mutants: explanations, ..Diagnosis::default() });
        let before = |divergence: &Divergence| divergence.fallback.as_ref().map(|fallback| fallback.values);
        divergences.iter().map(|divergence| (divergence.kind, before(divergence))).collect()
    }

    #[test]
    fn values_without_their_quantization_follow_from_the_fallback() {
        let caused = [(Kind::PrecisionFallback, Some(FallbackValues::Changed)), (Kind::WrongValues, None)];
        assert_eq!(settled(&[Mutant::WeightsUnquantized]), caused);
        assert_eq!(settled(&[Mutant::BiasDropped, Mutant::ResultsUnquantized]), caused);
    }

    #[test]
    fn what_is_before_of_a_fallback_is_what_became_known_of_it() {
        let mut divergences = divergences();
        divergences[0].detail = "it runs on FLOAT; the values are wrong".to_owned();
        settle(&mut divergences, &Diagnosis::default());
        assert_eq!(divergences[1].detail, "it runs on FLOAT; the values are wrong for another reason");
    }

    #[test]
    fn other_mutants_and_what_nothing_explains_lead_by_themselves() {
        let beside = [(Kind::WrongValues, None), (Kind::PrecisionFallback, Some(FallbackValues::Obscured))];
        assert_eq!(settled(&[Mutant::ScaleOnOtherAxis]), beside);
        assert_eq!(settled(&[]), beside);
    }
}
