//! What a finding is recognized by.

mod same_bug;
mod shown;

use std::iter;

use twinfer_case::{Case, CaseOutcome, Cause, Finding, Kind, Signature, Trigger};
use twinfer_triggers::{DescribedNode, describe, satisfies};

pub use self::same_bug::is_same_bug;
use crate::{
    BrokenBy,
    classes::{are_inside, classes},
};

/// What distinguishes a finding from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The signature of the finding's minimal case.
    pub signature: Signature,
    /// The [classes](crate::classes) of the finding's minimal case; of a segment if that is wrong only inside its case.
    pub classes: Vec<String>,
    /// Where the finding's minimal case breaks a rule; `None` if its graph is valid or breaks another rule first.
    pub broken_by: Option<BrokenBy>,
    /// What repeats of the minimal case came to if the finding varies; empty for any other finding.
    pub outcomes: Vec<CaseOutcome>,
    /// The condition under which the finding shows, if it is known.
    pub trigger: Option<Trigger>,
    /// The names of what explains the finding if no mutant of its signature does, alternatives of which one holds: edits of golden, or wider
    /// listed mutants.
    pub edits: Vec<String>,
    /// The mutants of the signature that other cases have refuted since: they explain nothing.
    pub refuted: Vec<String>,
    /// What the nodes of the finding's minimal case are like.
    pub nodes: Vec<DescribedNode>,
}

impl Identity {
    /// How `finding`, whose minimal case is `case`, is recognized.
    pub fn of(finding: &Finding, case: &Case) -> Self {
        let outcomes =
            finding.outcomes.iter().filter(|_| finding.kind.varies()).map(|one| one.outcome.clone());
        Self {
            outcomes: outcomes.collect(),
            trigger: finding.trigger.clone(),
            refuted: finding.refuted.clone(),
            edits: finding
                .diagnosis
                .iter()
                .filter(|name| !named(&finding.signature).contains(name))
                .cloned()
                .collect(),
            ..Self::of_case(finding.current_signature(), case)
        }
    }

    /// How a finding with this signature and this minimal case is recognized before its trigger is known.
    pub fn of_case(signature: Signature, case: &Case) -> Self {
        let (outcomes, edits, refuted) = (Vec::new(), Vec::new(), Vec::new());
        let classes = match &signature.cause {
            Cause::Graph(inside) if are_inside(inside) => inside.clone(),
            _ => classes(case),
        };
        let (broken_by, nodes) = (BrokenBy::of(case), describe(case));
        Self { signature, classes, broken_by, outcomes, trigger: None, edits, refuted, nodes }
    }

    /// The `mutants` that no other case has refuted; all of them if every one is refuted.
    fn unrefuted(&self, mutants: &[String]) -> Vec<String> {
        let left: Vec<_> = mutants.iter().filter(|mutant| !self.refuted.contains(mutant)).cloned().collect();
        if left.is_empty() { mutants.to_vec() } else { left }
    }

    /// The signature without mutants that explain nothing.
    fn unrefuted_signature(&self) -> Signature {
        let mut signature = self.signature.clone();
        if let Cause::Diagnosis(mutants) = &mut signature.cause {
            *mutants = self.unrefuted(mutants);
        }
        signature
    }

    /// The names of what explains the finding, alternatives of which one holds.
    pub(crate) fn explanations(&self) -> Vec<String> {
        match &self.signature.cause {
            Cause::Diagnosis(mutants) if self.edits.is_empty() => self.unrefuted(mutants),
            _ => self.edits.clone(),
        }
    }

    /// Whether the trigger is known, and nearly all cases that satisfy it show the finding.
    fn is_sufficiently_triggered(&self) -> bool {
        self.trigger.as_ref().is_some_and(Trigger::is_sufficient)
    }

    /// Whether cases that satisfy the trigger and diverge as the finding does show the finding: nearly all that satisfy it do, or an edit is
    /// right about nearly all that do.
    fn is_told_by_trigger(&self) -> bool {
        let has_facts = self.trigger.as_ref().is_some_and(|trigger| !trigger.facts.is_empty());
        self.is_sufficiently_triggered() || has_facts && !self.edits.is_empty()
    }

    /// Whether nodes like these satisfy the trigger; false if it is not known.
    fn triggers(&self, nodes: &[DescribedNode]) -> bool {
        self.trigger.as_ref().is_some_and(|trigger| satisfies(nodes, trigger))
    }

    /// Whether nodes like these satisfy the trigger, or it is not known.
    pub(crate) fn admits(&self, nodes: &[DescribedNode]) -> bool {
        self.trigger.as_ref().is_none_or(|trigger| satisfies(nodes, trigger))
    }

    /// Whether what explains the finding, or the error that it shows, tells it from others: not if it is of values that nothing explains.
    pub(crate) fn is_told_apart(&self) -> bool {
        let is_of_outputs = |kind: &Kind| {
            matches!(
                kind,
                Kind::WrongValues | Kind::WrongShape | Kind::UnwrittenOutput | Kind::PrecisionFallback
            )
        };
        let mut kinds =
            iter::once(&self.signature.kind).chain(self.outcomes.iter().flat_map(|outcome| &outcome.kinds));
        !(matches!(self.signature.cause, Cause::Graph(_)) && kinds.any(is_of_outputs))
    }
}

/// The mutants that a signature names.
fn named(signature: &Signature) -> &[String] {
    match &signature.cause {
        Cause::Diagnosis(mutants) | Cause::Fallback { diagnosis: mutants, .. } => mutants,
        Cause::Graph(_) => &[],
    }
}

#[cfg(test)]
mod tests;
