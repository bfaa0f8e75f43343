//! *Pairs*: which two mistakes are tried together where no single one explains a case: listed mutants, of any operators, or edits of one
//! operator. There are too many edits to try all, so one of them must account for some of what is wrong by itself.

use twinfer_checks::{Evaluated, Prediction, error_left, is_visible};
use twinfer_golden::{Arithmetic, Combination, Edit, EditPair, Hypothesis, Mutant, MutantPair};

use crate::trials::{FEWEST, Trial, Trials};

/// Edits that are tried with every other one at most: those that leave least.
const MOST_FIRST: usize = 12;

/// The share of what is wrong that such an edit may leave.
const MOST_LEFT: f64 = 0.9;

/// Diverging cases on which edits are compared at most.
const MOST_COMPARED: usize = 8;

/// The pairs of listed mutants that are tried on a case: each of the two changes its outputs by itself.
pub fn mutant_pairs(evaluated: &Evaluated, arithmetic: Arithmetic) -> Vec<MutantPair> {
    let Evaluated { encoded, references, .. } = evaluated;
    let graph = &encoded.case.graph;
    let shows = |mutant: &Mutant| {
        let alone = Combination::of(*mutant);
        let hypothesis = Hypothesis::Listed(alone);
        let shows_at = |node| is_visible(hypothesis, node, encoded, references, arithmetic);
        alone.concerns(graph) && graph.nodes.iter().any(shows_at)
    };
    let mutants: Vec<_> = Mutant::ALL.iter().copied().filter(shows).collect();
    let with_others = |(place, first): (usize, &Mutant)| {
        let others = mutants[place + 1..].iter();
        others.filter_map(|second| MutantPair::new(*first, *second)).collect::<Vec<_>>()
    };
    mutants.iter().enumerate().flat_map(with_others).collect()
}

impl Trials<'_> {
    /// The pairs of edits that are tried: one edit that accounts for a part of what is wrong, and any other one of its operator.
    pub fn pairs(&self, edits: &[Edit]) -> Vec<EditPair> {
        let everywhere: Vec<_> = edits.iter().copied().filter(|edit| !edit.is_restricted()).collect();
        let left = everywhere.iter().filter_map(|edit| Some((self.error_left(*edit)?, *edit)));
        let mut first: Vec<_> = left.filter(|(left, _)| *left < MOST_LEFT).collect();
        first.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        first.truncate(MOST_FIRST);
        let with_others = |(_, edit): &(f64, Edit)| {
            let pairs = everywhere.iter().filter_map(|other| EditPair::new(*edit, *other));
            pairs.collect::<Vec<_>>()
        };
        first.iter().flat_map(with_others).collect()
    }

    /// Whether several diverging cases are as both mistakes of a pair together predict, and as neither alone does; true unless it is a pair.
    pub fn needs_all(&self, hypothesis: Hypothesis) -> bool {
        let Some(parts) = hypothesis.parts() else { return true };
        let arithmetic = self.circumstances.arithmetic;
        let is_evidence = |trial: &&Trial<'_>| {
            let whole = trial.predicted(hypothesis, arithmetic);
            let is_refuted = |part| trial.predicted(part, arithmetic) == Prediction::Refuted;
            matches!(whole, Prediction::Reproduced(evidence) if evidence.bits > 0.0)
                && parts.into_iter().all(is_refuted)
        };
        self.diverging.iter().filter(is_evidence).count() >= FEWEST
    }

    /// The share of what is wrong that an edit leaves in the diverging cases, on average; `None` if there are too few.
    fn error_left(&self, edit: Edit) -> Option<f64> {
        let (hypothesis, arithmetic) = (Hypothesis::Composed(edit), self.circumstances.arithmetic);
        let of_trial = |trial: &Trial<'_>| {
            trial.predictions.error_left(edit, || error_left(hypothesis, trial.evaluated, arithmetic))
        };
        let left: Vec<_> = self.diverging.iter().filter_map(of_trial).take(MOST_COMPARED).collect();
        (left.len() >= FEWEST).then(|| left.iter().sum::<f64>() / left.len() as f64)
    }
}

/// How many pairs there are of which one is found.
pub fn count_of_pairs(edits: &[Edit]) -> usize {
    let is_of = |edit: &&Edit, other: &&Edit| edit.operator() == other.operator();
    let everywhere: Vec<_> = edits.iter().filter(|edit| !edit.is_restricted()).collect();
    everywhere
        .chunk_by(is_of)
        .map(|of_operator| of_operator.len() * of_operator.len().saturating_sub(1))
        .sum()
}
