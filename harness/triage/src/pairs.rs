//! *Pairs*: which two edits of one operator are tried together where no single one explains a case. There are too many to try all, so one of
//! them must account for some of what is wrong by itself.

use twinfer_checks::{Prediction, error_left};
use twinfer_golden::{Edit, EditPair, Hypothesis};

use crate::trials::{FEWEST, Trial, Trials};

/// Edits that are tried with every other one at most: those that leave least.
const MOST_FIRST: usize = 12;

/// The share of what is wrong that such an edit may leave.
const MOST_LEFT: f64 = 0.9;

/// Diverging cases on which edits are compared at most.
const MOST_COMPARED: usize = 8;

impl Trials<'_> {
    /// The pairs that are tried: one edit that accounts for a part of what is wrong, and any other one of its operator.
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

    /// Whether several diverging cases are as both edits together predict, and as neither alone does.
    pub fn needs_both(&self, pair: EditPair) -> bool {
        let arithmetic = self.circumstances.arithmetic;
        let is_evidence = |trial: &&Trial<'_>| {
            let whole = trial.predicted(Hypothesis::Pair(pair), arithmetic);
            let is_refuted =
                |edit| trial.predicted(Hypothesis::Composed(edit), arithmetic) == Prediction::Refuted;
            matches!(whole, Prediction::Reproduced(evidence) if evidence.bits > 0.0)
                && pair.edits().into_iter().all(is_refuted)
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
