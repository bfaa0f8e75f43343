//! Whether a case, or what is known of it, shows a finding.

use twinfer_case::{Case, CaseOutcome, Cause, Kind, Signature};
use twinfer_triggers::{describe_runs, satisfies};

use super::Identity;
use crate::{
    BrokenBy,
    classes::classes,
    provisional::Provisional,
    resemblance::{are_among, is_alike, is_same_fallback},
};

impl Identity {
    /// Whether `case`, which diverges as the finding does, shows the finding: it satisfies the trigger or, if that tells too little, has all
    /// classes of the minimal case.
    pub fn is_shown_by(&self, case: &Case) -> bool {
        match &self.trigger {
            Some(trigger) if self.is_told_by_trigger() => satisfies(&describe_runs(case), trigger),
            _ => self.is_contained_in(&classes(case)),
        }
    }

    /// Whether a minimal case with this signature shows the finding.
    pub fn matches(&self, signature: &Signature) -> bool {
        self.signature == *signature
            || self.lists(signature) && signature.cause == self.signature.cause
            || !matches!(signature.cause, Cause::Graph(_)) && self.is_likely(&signature.clone().into())
    }

    /// Whether `classes`, those of some case, include all classes of the finding's minimal case.
    pub fn is_contained_in(&self, classes: &[String]) -> bool {
        self.classes.iter().all(|class| classes.contains(class))
    }

    /// Whether a divergence with this signature is one of the outcomes of a finding that varies.
    fn lists(&self, signature: &Signature) -> bool {
        let is_outcome = |outcome: &CaseOutcome| {
            outcome.kinds.contains(&signature.kind) && outcome.error == signature.without_check().error
        };
        self.signature.backend == signature.backend && self.outcomes.iter().any(is_outcome)
    }

    /// Whether a case that looks like this most likely shows the finding.
    pub(crate) fn is_likely(&self, provisional: &Provisional) -> bool {
        let Provisional { signature, nodes, broken_by } = provisional;
        if self.signature.kind == Kind::Unstable && self.lists(signature) {
            return matches!(&signature.cause, Cause::Graph(present) if self.is_contained_in(present));
        }
        if self.signature.kind == Kind::AcceptsInvalid {
            return self.accepts_like(signature, broken_by.as_ref());
        }
        if self.is_refused_like(signature) {
            return true;
        }
        is_alike(&self.signature, signature)
            && match (&self.signature.cause, &signature.cause) {
                (Cause::Graph(_), Cause::Graph(_)) if self.is_told_by_trigger() => self.triggers(nodes),
                // other mutants may explain another bug that shows under the same condition, unless an edit is right about all that do
                (Cause::Graph(_), Cause::Diagnosis(possible)) if self.is_told_by_trigger() => {
                    let is_explained = !self.edits.is_empty();
                    let are_refuted = || possible.iter().all(|mutant| self.refuted.contains(mutant));
                    self.triggers(nodes) && (is_explained || are_refuted())
                }
                (Cause::Graph(_), Cause::Graph(present)) => self.is_contained_in(present),
                (Cause::Diagnosis(known), Cause::Diagnosis(possible)) => {
                    are_among(&self.unrefuted(known), possible)
                }
                (Cause::Fallback { diagnosis: known, .. }, Cause::Fallback { diagnosis: possible, .. }) => {
                    is_same_fallback(&self.signature.cause, &signature.cause)
                        && known.is_empty() == possible.is_empty()
                        && are_among(known, possible)
                }
                _ => false,
            }
    }

    /// Whether a parser refuses a model with this signature because the condition fails that fails for the finding.
    pub(super) fn is_refused_like(&self, signature: &Signature) -> bool {
        self.signature.is_told_by_condition() && is_alike(&self.signature, signature)
    }

    /// Whether a backend that accepts an invalid graph, as the finding says, does the same here: the same rule is broken, by the same
    /// operator or outside any node.
    pub(super) fn accepts_like(&self, signature: &Signature, broken_by: Option<&BrokenBy>) -> bool {
        self.signature.kind == Kind::AcceptsInvalid
            && is_alike(&self.signature, signature)
            && broken_by.is_some()
            && self.broken_by.as_ref() == broken_by
    }
}
