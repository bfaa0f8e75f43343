//! Whether two findings are the same bug.

use twinfer_case::{Case, Cause, Finding};

use super::Identity;
use crate::resemblance::{differ_in_quantizers, is_alike};

impl Identity {
    /// Whether both are the same bug: they show the same mistake, or the minimal case of each satisfies the trigger of
    /// the other and shows what the other does.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.shows_mistake_of(other) || self.is_triggered_like(other)
    }

    /// Whether both show the same mistake: one signature, one explanation, or one condition that fails in a parser.
    pub(crate) fn shows_mistake_of(&self, other: &Self) -> bool {
        self.signature == other.signature
            || self.matches(&other.unrefuted_signature())
            || self.is_refused_like(&other.signature)
            || self.is_explained_like(other)
            || self.makes_mistake_of(other)
            || self.accepts_like(&other.signature, other.broken_by.as_ref())
    }

    /// Whether edits, or wider listed mutants, explain one of both, and one of them may explain the other too.
    fn is_explained_like(&self, other: &Self) -> bool {
        let is_composed = !self.edits.is_empty() || !other.edits.is_empty();
        let is_common = |name: &String| other.explanations().contains(name);
        is_composed
            && is_alike(&self.signature, &other.signature)
            && self.explanations().iter().any(is_common)
    }

    /// Whether listed mutants explain both: those of one are among those of the other, of which every further one makes the mistake of one of
    /// these in other quantizers. What a case without QuantizeLinear does not tell apart is no evidence of another bug.
    fn makes_mistake_of(&self, other: &Self) -> bool {
        let (Cause::Diagnosis(own), Cause::Diagnosis(others)) =
            (&self.signature.cause, &other.signature.cause)
        else {
            return false;
        };
        let is_variant = |own: &[String], others: &[String]| {
            differ_in_quantizers(own, others) || differ_in_quantizers(others, own)
        };
        self.edits.is_empty()
            && other.edits.is_empty()
            && is_alike(&self.signature, &other.signature)
            && is_variant(&self.unrefuted(own), &other.unrefuted(others))
            && self.admits(&other.nodes)
            && other.admits(&self.nodes)
    }

    fn is_triggered_like(&self, other: &Self) -> bool {
        let are_explained = !self.explanations().is_empty() && !other.explanations().is_empty();
        let are_explained_apart =
            are_explained && self.explanations() != other.explanations() && !self.is_explained_like(other);
        let are_unexplained =
            matches!((&self.signature.cause, &other.signature.cause), (Cause::Graph(_), Cause::Graph(_)));
        // an edit is right about nearly all cases that show something under its condition
        let are_explained_once = self.edits.is_empty() != other.edits.is_empty();
        let is_same_core = || self.is_contained_in(&other.classes) || other.is_contained_in(&self.classes);
        let are_sufficient = || self.is_sufficiently_triggered() && other.is_sufficiently_triggered();
        is_alike(&self.signature, &other.signature)
            && !are_explained_apart
            && (are_sufficient()
                || are_explained_once && self.is_triggered_by_the_facts_of(other)
                || are_unexplained && is_same_core())
            && self.triggers(&other.nodes)
            && other.triggers(&self.nodes)
    }

    /// Whether both show under the very same condition, and not always.
    fn is_triggered_by_the_facts_of(&self, other: &Self) -> bool {
        let triggers = self.trigger.as_ref().zip(other.trigger.as_ref());
        triggers.is_some_and(|(one, other)| {
            !one.facts.is_empty() && (&one.operator, &one.facts) == (&other.operator, &other.facts)
        })
    }
}

/// Whether two findings, each with its minimal case, are the same bug.
pub fn is_same_bug((one, minimal): &(Finding, Case), (other, other_minimal): &(Finding, Case)) -> bool {
    Identity::of(one, minimal).is_same_as(&Identity::of(other, other_minimal))
}
