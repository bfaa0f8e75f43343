//! How signatures, and the explanations in them, *resemble* each other.

use std::slice;

use twinfer_case::{Cause, Finding, Signature};
use twinfer_golden::{Combination, Hypothesis};

use crate::symptom::are_of_values;

/// The names of the two mistakes that the first of these explanations is made of, if each explanation is made of two that explain
/// two findings which are `known` by their explanations: another alternative may be a mistake that is not. The two may be directions of one mistake.
pub fn known_parts(explanations: &[String], known: &[Vec<String>]) -> Option<[String; 2]> {
    let directions =
        |name: &String| Combination::from_name(name)?.directions().map(|one| one.map(str::to_owned));
    let composed = |name: &String| Some(Hypothesis::from_name(name)?.parts()?.map(|part| part.to_string()));
    let parts = |name: &String| directions(name).or_else(|| composed(name));
    let explained_by = |part: &String| -> Vec<usize> {
        let explains = |place: &usize| known[*place].contains(part);
        (0..known.len()).filter(explains).collect()
    };
    let is_known = |name: &String| {
        parts(name).is_some_and(|[one, other]| {
            let others = explained_by(&other);
            explained_by(&one).iter().any(|place| others.iter().any(|another| another != place))
        })
    };
    explanations.first().filter(|_| explanations.iter().all(is_known)).and_then(parts)
}

/// Whether each of the mutants `known` is one of those that are `possible`, or makes the mistake of one of them in both directions.
pub fn are_among(known: &[String], possible: &[String]) -> bool {
    let is_one_way = |possible: &String, known: &String| {
        let listed = Combination::from_name(possible).zip(Combination::from_name(known));
        listed.is_some_and(|(possible, known)| possible.is_one_way_of(&known))
    };
    let is_possible = |known: &String| possible.iter().any(|one| one == known || is_one_way(one, known));
    known.iter().all(is_possible)
}

/// Whether `all` mutants are `some` of them and others that make the mistake of one of these in other quantizers.
pub fn differ_in_quantizers(some: &[String], all: &[String]) -> bool {
    let is_variant = |one: &String, other: &String| {
        let listed = Combination::from_name(one).zip(Combination::from_name(other));
        listed.is_some_and(|(one, other)| one.differs_in_quantizers_from(&other))
    };
    let is_some_or_variant = |one: &String| some.iter().any(|other| one == other || is_variant(one, other));
    some.iter().all(|one| all.contains(one)) && all.iter().all(is_some_or_variant)
}

/// Whether two cases with these provisional signatures may reduce to one finding.
pub fn may_be_same_finding(one: &Signature, other: &Signature) -> bool {
    is_alike(one, other)
        && match (&one.cause, &other.cause) {
            (Cause::Diagnosis(one), Cause::Diagnosis(other)) => {
                one.iter().any(|mutant| other.contains(mutant))
            }
            (Cause::Fallback { .. }, Cause::Fallback { .. }) => is_same_fallback(&one.cause, &other.cause),
            (Cause::Graph(_), Cause::Graph(_)) => true,
            _ => false,
        }
}

/// Whether a divergence with the signature `upper` on a rung may be the divergence with the signature `lower` below, on the
/// same case. Mutants may explain it on one of the two only.
pub fn may_repeat_on_rung(lower: &Signature, upper: &Signature) -> bool {
    let is_explained_once = matches!(
        (&lower.cause, &upper.cause),
        (Cause::Graph(_), Cause::Diagnosis(_)) | (Cause::Diagnosis(_), Cause::Graph(_))
    );
    may_be_same_finding(lower, upper) || is_alike(lower, upper) && is_explained_once
}

/// Whether the same mistake may explain both findings: they have an explanation in common, or one has a direction of a mistake of the other.
pub fn may_share_mistake(one: &Finding, other: &Finding) -> bool {
    let explanations = |finding: &Finding| -> Vec<_> {
        finding.diagnosis.iter().filter(|name| !finding.refuted.contains(name)).cloned().collect()
    };
    let (ours, theirs) = (explanations(one), explanations(other));
    let (cause, other_cause) = (&one.signature.cause, &other.signature.cause);
    let are_fallbacks = [cause, other_cause].iter().any(|cause| matches!(cause, Cause::Fallback { .. }));
    let is_among = |name: &String, others: &[String]| are_among(slice::from_ref(name), others);
    is_alike(&one.current_signature(), &other.current_signature())
        && (!are_fallbacks || is_same_fallback(cause, other_cause))
        && (ours.iter().any(|name| is_among(name, &theirs))
            || theirs.iter().any(|name| is_among(name, &ours)))
}

/// Whether two signatures differ at most in their causes.
pub fn is_alike(one: &Signature, other: &Signature) -> bool {
    one.backend == other.backend
        && one.stage == other.stage
        && (one.kind == other.kind || is_of_values(one) && is_of_values(other))
        && one.error == other.error
}

/// Whether a backend refused both with the same error, but for the check that failed.
pub fn differ_in_checks(one: &Signature, other: &Signature) -> bool {
    let checks = one.failed_check().zip(other.failed_check());
    checks.is_some_and(|(one, other)| one != other) && is_alike(&one.without_check(), &other.without_check())
}

/// Whether the signature is of wrong values, which an explanation may have made a precision fallback.
const fn is_of_values(signature: &Signature) -> bool {
    are_of_values(signature.kind, signature.kind) && !matches!(signature.cause, Cause::Fallback { .. })
}

/// Whether both causes are the same precision fallback; the mutants that explain its values are not compared.
pub fn is_same_fallback(one: &Cause, other: &Cause) -> bool {
    let fallback = |cause: &Cause| match cause {
        Cause::Fallback { operator, reason, changes_values, .. } => {
            Some((operator.clone(), *reason, *changes_values))
        }
        _ => None,
    };
    fallback(one).is_some() && fallback(one) == fallback(other)
}

#[cfg(test)]
mod tests {
    use twinfer_case::{FallbackReason, Kind, Variant};

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// A finding of wrong values that these mutants explain.
    fn explained(mutants: &[&str]) -> Finding {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let mut finding: Finding = serde_json::from_str(stored).expect("a finding");
        (finding.signature.kind, finding.signature.error) = (Kind::WrongValues, None);
        finding.signature.cause = Cause::Diagnosis(names(mutants));
        Finding { kind: Kind::WrongValues, diagnosis: names(mutants), divergences: Vec::new(), ..finding }
    }

    #[test]
    fn findings_with_a_common_explanation_may_share_a_mistake() {
        let one = explained(&["scale-along-axis-0", "dequantized-along-axis-0"]);
        let share = |other: &Finding| {
            assert_eq!(may_share_mistake(&one, other), may_share_mistake(other, &one));
            may_share_mistake(&one, other)
        };
        assert!(share(&explained(&["dequantized-along-axis-0", "first-scale-for-all"])));
        assert!(share(&explained(&["dequantized-on-other-axis"])), "one direction of it");
        assert!(!share(&explained(&["dequantized-along-axis-1"])));
        assert!(!share(&explained(&[])));
        let refuted = names(&["dequantized-along-axis-0"]);
        let other = explained(&["dequantized-along-axis-0", "first-scale-for-all"]);
        assert!(!share(&Finding { refuted, ..other.clone() }));
        let mut elsewhere = other;
        elsewhere.signature.backend = "trt".parse::<Variant>().expect("a variant").backend;
        assert!(!share(&elsewhere));
    }

    #[test]
    fn fallbacks_share_a_mistake_only_if_they_are_the_same() {
        let fallback = |operator: &str| {
            let mut finding = explained(&["in-half"]);
            finding.signature.cause = Cause::Fallback {
                operator: operator.to_owned(),
                reason: FallbackReason::NotFused,
                changes_values: true,
                diagnosis: names(&["in-half"]),
            };
            finding
        };
        assert!(may_share_mistake(&fallback("Conv"), &fallback("Conv")));
        assert!(!may_share_mistake(&fallback("Conv"), &fallback("ConvTranspose")));
        assert!(!may_share_mistake(&fallback("Conv"), &explained(&["in-half"])));
    }

    #[test]
    fn one_finding_is_not_two_known_ones() {
        let both = names(&["dequantized-on-other-axis"]);
        let [upper, lower] =
            ["dequantized-along-axis-1", "dequantized-along-axis-0"].map(|name| names(&[name]));
        let parts = Some(["dequantized-along-axis-1", "dequantized-along-axis-0"].map(str::to_owned));
        assert_eq!(known_parts(&both, &[upper.clone(), lower.clone()]), parts);
        assert_eq!(known_parts(&both, &[[upper.clone(), lower].concat(), Vec::new()]), None);
        assert_eq!(known_parts(&both, &[upper]), None);
    }
}
