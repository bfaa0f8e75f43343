//! A *study* finds out by experiments what a minimal case alone cannot tell: under which condition its finding shows, and which of
//! the mutants that reproduce it do so by accident.

use std::collections::BTreeMap;

use twinfer_case::{Case, Diagnosis, Expectation, Kind, Trigger, Verdict};
use twinfer_checks::Evaluated;
use twinfer_triggers::{DescribedNode, Learner, describe};

use crate::{
    TriageError,
    composition::{Circumstances, Drawn, Observations},
    diverging_case::DivergingCase,
    neighbors::Neighbors,
    reduction::Reduction,
    symptom::Symptom,
    witness::{larger_witnesses, witnesses},
};

/// Cases that a study runs at most.
const MOST_CASES: usize = 192;
/// The same number for a symptom that ends workers: each needs a new one.
const MOST_CRASHES: usize = 32;
/// Diverging cases beside the minimal one that an explanation must be tried on.
const FEWEST: usize = 2;

/// Operators that a finding is about, the likeliest first.
const SUBJECTS: [&str; 8] = [
    "ConvTranspose",
    "Conv",
    "BatchNormalization",
    "MaxPool",
    "Concat",
    "Add",
    "QuantizeLinear",
    "DequantizeLinear",
];

/// What experiments showed of a minimal case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// The condition under which the finding shows; `None` if none was found.
    pub trigger: Option<Trigger>,
    /// The mutants that reproduce the minimal case, and not other cases that show its finding.
    pub refuted: Vec<String>,
    /// The edits of golden that explain the minimal case if no mutant does; `None` if none of them does either.
    pub composed: Option<Diagnosis>,
}

/// Runs experiments.
pub struct Experiments<'a> {
    /// Runs cases.
    pub reduction: &'a Reduction<'a>,
    /// The cases among which the trigger is looked for; `None` if it is not.
    pub neighbors: Option<&'a Neighbors>,
}

/// How often the mutants that explain a case explain its graph with other values.
#[derive(Default)]
struct Explanations {
    diverging: usize,
    explained: BTreeMap<String, usize>,
    /// The cases that ran.
    observations: Observations,
}

impl Experiments<'_> {
    /// What experiments show of a minimal case. `is_reached` says, given the trigger and the refuted mutants, whether another case has shown
    /// that finding already; edits are not searched then.
    pub fn study(
        &self,
        minimal: &DivergingCase,
        is_reached: &dyn Fn(&Study) -> bool,
    ) -> Result<Study, TriageError> {
        let case = &minimal.evaluated.encoded.case;
        let mut explanations = self.explanations(minimal)?;
        if minimal.symptom.diagnosis().is_empty() {
            self.run_witnesses(minimal, witnesses(case), &mut explanations)?;
        }
        if self.neighbors.is_some() {
            self.run_witnesses(minimal, larger_witnesses(case), &mut explanations)?;
        }
        let nodes = describe(case);
        let trigger = match (subject(&nodes).filter(|_| is_studied(minimal)), self.neighbors) {
            (Some(subject), Some(neighbors)) => {
                self.trigger(minimal, subject, neighbors, &mut explanations)?
            }
            _ => None,
        };
        let circumstances = Circumstances {
            trigger: trigger.as_ref(),
            arithmetic: self.reduction.workers.info().description.arithmetic,
        };
        let observations = &explanations.observations;
        let refuted = observations.refuted(&minimal.symptom, circumstances);
        let known = Study { trigger: trigger.clone(), refuted, composed: None };
        if is_reached(&known) {
            return Ok(known);
        }
        let (refuted, composed) = observations.settle(minimal, known.refuted, circumstances);
        Ok(Study { trigger, refuted, composed })
    }

    /// The mutants that explain a case, and not its graph with other values.
    pub fn doubt(&self, diverging: &DivergingCase) -> Result<Vec<String>, TriageError> {
        let explanations = self.explanations(diverging)?;
        let is_tried = explanations.diverging >= FEWEST;
        Ok(if is_tried { explanations.refuted(&diverging.symptom) } else { Vec::new() })
    }

    /// How often the mutants that explain a case explain its graph with other values.
    fn explanations(&self, diverging: &DivergingCase) -> Result<Explanations, TriageError> {
        let mut explanations = Explanations::default();
        if !diverging.symptom.diagnosis().is_empty() {
            let witnesses = witnesses(&diverging.evaluated.encoded.case);
            self.run_witnesses(diverging, witnesses, &mut explanations)?;
        }
        Ok(explanations)
    }

    /// Runs the graph of a case with other values, or of other extents.
    fn run_witnesses(
        &self,
        diverging: &DivergingCase,
        witnesses: Vec<Case>,
        explanations: &mut Explanations,
    ) -> Result<(), TriageError> {
        if is_studied(diverging) {
            let _lease = self.reduction.workers.lease();
            for evaluated in self.reduction.run_warm(witnesses, &diverging.symptom)? {
                explanations.count(&diverging.symptom, evaluated, Drawn::Witness);
            }
        }
        Ok(())
    }

    /// The condition under which `subject` diverges in `neighbors`.
    fn trigger(
        &self,
        minimal: &DivergingCase,
        subject: &DescribedNode,
        neighbors: &Neighbors,
        explanations: &mut Explanations,
    ) -> Result<Option<Trigger>, TriageError> {
        let limit = if minimal.symptom.kind() == Kind::Crash { MOST_CRASHES } else { MOST_CASES };
        let operator = subject.operator.as_str();
        let mut learner = Learner::new(subject, &neighbors.described(operator), limit);
        let _lease = self.reduction.workers.lease();
        while self.reduction.cancellation.is_active() {
            let places = learner.propose();
            if places.is_empty() {
                return Ok(learner.trigger());
            }
            let cases = places.iter().map(|place| neighbors.case(operator, *place)).collect();
            for (place, evaluated) in
                places.into_iter().zip(self.reduction.run_warm(cases, &minimal.symptom)?)
            {
                if let Some(diverges) = diverges(&minimal.symptom, &evaluated) {
                    learner.learn(place, diverges);
                }
                explanations.count(&minimal.symptom, evaluated, Drawn::Neighbor);
            }
        }
        Ok(None)
    }
}

impl Explanations {
    fn count(&mut self, symptom: &Symptom, evaluated: Evaluated, drawn: Drawn) {
        if let Some(shown) = symptom.recurring_in(&evaluated) {
            self.diverging += 1;
            for mutant in shown.diagnosis() {
                *self.explained.entry(mutant.clone()).or_default() += 1;
            }
        }
        self.observations.add(symptom, evaluated, drawn);
    }

    /// The mutants of `symptom` that explain less than half of the cases, or all if the cases are too few to tell.
    fn refuted(&self, symptom: &Symptom) -> Vec<String> {
        let is_refuted = |mutant: &&String| {
            let explained = self.explained.get(*mutant).copied().unwrap_or(0);
            self.diverging < FEWEST || 2 * explained < self.diverging
        };
        symptom.diagnosis().iter().filter(is_refuted).cloned().collect()
    }
}

/// Whether a case shows a symptom; `None` if it shows something else, or if nothing was compared.
fn diverges(symptom: &Symptom, evaluated: &Evaluated) -> Option<bool> {
    match evaluated.judgement.verdict {
        Verdict::Conforms => Some(false),
        Verdict::Diverges(_) => symptom.recurring_in(evaluated).map(|_| true),
        _ => None,
    }
}

/// Whether other cases may show the symptom of a case, at a cost that allows for trying.
fn is_studied(minimal: &DivergingCase) -> bool {
    let case: &Case = &minimal.evaluated.encoded.case;
    is_shown_by_others(minimal.symptom.kind()) && case.expectation == Expectation::Valid
}

/// Whether other cases may show a finding of this kind each time they run, so that experiments tell something.
pub const fn is_shown_by_others(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Hang | Kind::Nondeterministic | Kind::StateDependent | Kind::Unstable | Kind::AcceptsInvalid
    )
}

/// The node that a finding with these nodes in its minimal case is about.
fn subject(nodes: &[DescribedNode]) -> Option<&DescribedNode> {
    let of_operator = |operator: &&str| nodes.iter().find(|node| node.operator == *operator);
    SUBJECTS.iter().find_map(of_operator).or(nodes.first())
}
