//! What a finding is recognized by, and which provisional signatures may belong to one finding.

use twinfer_case::{Case, CaseOutcome, Cause, Finding, Kind, Signature};

use crate::classes::classes;

/// What distinguishes a finding from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The signature of the finding's minimal case.
    pub signature: Signature,
    /// The [classes](crate::classes) of the finding's minimal case.
    pub classes: Vec<String>,
    /// What repeats of an unstable finding's minimal case came to; empty for any other finding.
    pub outcomes: Vec<CaseOutcome>,
}

impl Identity {
    /// How `finding`, whose minimal case is `case`, is recognized.
    pub fn of(finding: &Finding, case: &Case) -> Self {
        let is_unstable = finding.kind == Kind::Unstable;
        let outcomes = finding.outcomes.iter().filter(|_| is_unstable).map(|one| one.outcome.clone());
        Self { signature: finding.signature.clone(), classes: classes(case), outcomes: outcomes.collect() }
    }

    /// Whether a minimal case with this signature shows the finding.
    pub fn matches(&self, signature: &Signature) -> bool {
        self.signature == *signature
            || self.lists(signature) && signature.cause == self.signature.cause
            || !matches!(signature.cause, Cause::Graph(_)) && self.is_likely(signature)
    }

    /// Whether `classes`, those of some case, include all classes of the finding's minimal case.
    pub fn is_contained_in(&self, classes: &[String]) -> bool {
        self.classes.iter().all(|class| classes.contains(class))
    }

    /// Whether a divergence with this signature is one of the outcomes of an unstable finding.
    fn lists(&self, signature: &Signature) -> bool {
        let is_outcome = |outcome: &CaseOutcome| {
            outcome.kinds.contains(&signature.kind) && outcome.error == signature.error
        };
        self.signature.backend == signature.backend && self.outcomes.iter().any(is_outcome)
    }

    /// Whether a case with this provisional signature most likely shows the finding.
    pub(crate) fn is_likely(&self, provisional: &Signature) -> bool {
        if self.lists(provisional) {
            return matches!(&provisional.cause, Cause::Graph(present) if self.is_contained_in(present));
        }
        is_alike(&self.signature, provisional)
            && match (&self.signature.cause, &provisional.cause) {
                (Cause::Graph(_), Cause::Graph(present)) => self.is_contained_in(present),
                (Cause::Diagnosis(known), Cause::Diagnosis(possible)) => {
                    known.iter().all(|mutant| possible.contains(mutant))
                }
                (Cause::Fallback { diagnosis: known, .. }, Cause::Fallback { diagnosis: possible, .. }) => {
                    is_same_fallback(&self.signature.cause, &provisional.cause)
                        && known.is_empty() == possible.is_empty()
                        && known.iter().all(|mutant| possible.contains(mutant))
                }
                _ => false,
            }
    }
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

/// Whether two signatures differ at most in their causes.
pub fn is_alike(one: &Signature, other: &Signature) -> bool {
    one.backend == other.backend
        && one.stage == other.stage
        && one.kind == other.kind
        && one.error == other.error
}

/// Whether both causes are the same precision fallback; the mutants that explain its values are not compared.
fn is_same_fallback(one: &Cause, other: &Cause) -> bool {
    let fallback = |cause: &Cause| match cause {
        Cause::Fallback { operator, reason, changes_values, .. } => {
            Some((operator.clone(), *reason, *changes_values))
        }
        _ => None,
    };
    fallback(one).is_some() && fallback(one) == fallback(other)
}
