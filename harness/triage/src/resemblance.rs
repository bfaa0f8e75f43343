//! How signatures, and the explanations in them, *resemble* each other.

use std::slice;

use twinfer_case::{Cause, Finding, Signature};
use twinfer_golden::{Combination, Hypothesis};

use crate::symptom::are_of_values;

/// The names of the two mistakes that the first of these explanations is made of, if each explanation is made of two that are `known` as
/// explanations of others: another alternative may be a mistake that is not. The two may be directions of one mistake.
pub fn known_parts(explanations: &[String], known: &[String]) -> Option<[String; 2]> {
    let directions =
        |name: &String| Combination::from_name(name)?.directions().map(|one| one.map(str::to_owned));
    let composed = |name: &String| Some(Hypothesis::from_name(name)?.parts()?.map(|part| part.to_string()));
    let parts = |name: &String| directions(name).or_else(|| composed(name));
    let is_known =
        |name: &String| parts(name).is_some_and(|parts| parts.iter().all(|part| known.contains(part)));
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
    let is_among = |name: &String, others: &[String]| are_among(slice::from_ref(name), others);
    is_alike(&one.current_signature(), &other.current_signature())
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

/// Whether a parser refused both with the same error, but for the condition that failed.
pub fn differ_in_conditions(one: &Signature, other: &Signature) -> bool {
    let conditions = one.condition().zip(other.condition());
    conditions.is_some_and(|(one, other)| one != other)
        && is_alike(&one.without_condition(), &other.without_condition())
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
