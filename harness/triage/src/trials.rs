//! *Trials*: the cases that a hypothesis is tried on, and how it does on them.

use twinfer_case::{Arithmetic, Diagnosis, Trigger};
use twinfer_checks::{Evaluated, Prediction};
use twinfer_golden::{Combination, Hypothesis, Mutant, MutantPair, Operator};
use twinfer_onnx::Node;
use twinfer_triggers::{concerned, describe, satisfies};

use crate::predictions::Predictions;

/// The evidence in bits that an explanation needs beyond what chooses it among all that are tried.
const ENOUGH_BITS: f64 = 20.0;

/// The evidence in bits of a case of which the diagnosis names a mutant with bounds so wide that they hold golden's values too: as many zero
/// bits rule out chance.
const BITS_OF_DIAGNOSIS: f64 = 12.0;

/// Neighbors that show the same and that an explanation must reproduce with evidence at least: witnesses have the structure of the
/// minimal case, so that many edits agree on all of them.
pub const FEWEST: usize = 4;

/// Of the cases that show the same, an explanation may fail on one in this many: another bug may show there.
const TOLERATED: usize = 10;

/// The same for edits, of which there are so many that one may be right about most cases by accident.
const TOLERATED_OF_EDITS: usize = 20;

/// The same for a listed mutant that hardly any conforming case contradicts: the operator may have other bugs, which other cases show.
/// Which cases these are is chosen after the fact, so that each case that is tried takes a bit from the evidence.
const TOLERATED_BESIDE_OTHERS: usize = 2;

/// The same for an edit.
const TOLERATED_OF_EDITS_BESIDE_OTHERS: usize = 3;

/// Of the cases that conform although the trigger holds, an explanation may predict another output for one in this many.
const TOLERATED_CONFORMING: usize = 4;

/// The same where more diverging cases than usual show another bug.
const TOLERATED_CONFORMING_BESIDE_OTHERS: usize = 20;

/// Why a case ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// It has the structure of the minimal case, and other values.
    Witness,
    /// It has the operator of the minimal case.
    Neighbor,
}

/// What is known beside the cases.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    /// The condition under which the finding shows; `None` if none was found.
    pub trigger: Option<&'a Trigger>,
    /// The arithmetic of the backend.
    pub arithmetic: Arithmetic,
}

/// A case that a hypothesis is tried on.
pub struct Trial<'a> {
    pub evaluated: &'a Evaluated,
    /// What is known of hypotheses already.
    pub predictions: &'a Predictions,
    pub drawn: Drawn,
    /// The nodes that may show what is wrong; `None` if that is not known, or if the case does not satisfy the trigger.
    pub concerned: Option<Vec<&'a Node>>,
    /// Whether nearly all cases that satisfy the trigger show what is wrong.
    pub is_certain: bool,
}

/// The cases as they are tried.
pub struct Trials<'a> {
    pub diverging: Vec<Trial<'a>>,
    pub conforming: Vec<Trial<'a>>,
    /// The listed mutants that reproduce the minimal case, or its graph with other values.
    pub rivals: Vec<&'a str>,
    pub circumstances: Circumstances<'a>,
}

/// How a hypothesis that reproduces the minimal case did on the other cases: the less the better, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failures {
    /// Cases that show the same, and that it does not reproduce.
    diverging: usize,
    /// Conforming cases for which it predicts something else where the trigger holds, or anywhere if there is none.
    contradicting: usize,
    /// Cases that show the same and of which its bounds hold golden's values too, if they are many: another one that says what they come to
    /// explains more.
    silent: usize,
    is_restricted: bool,
    /// Conforming cases for which it predicts something else: it does not say when it applies.
    conforming: usize,
    /// Cases that show the same and that are left to other listed mutants, if they are many.
    left: usize,
}

/// How a hypothesis does on cases that show the same.
#[derive(Debug, Default)]
struct Tally {
    /// The evidence in bits of the cases that it reproduces.
    bits: f64,
    /// Cases that it reproduces with evidence.
    supporting: usize,
    /// The neighbors among them.
    supporting_neighbors: usize,
    /// Cases that it reproduces, as golden does.
    silent: usize,
    /// Cases that it does not reproduce.
    refuted: usize,
    /// The witnesses among them.
    refuted_witnesses: usize,
    /// The neighbors among them that some listed mutant explains.
    explained_by_rivals: usize,
    /// All neighbors.
    neighbors: usize,
}

/// How many conforming cases a hypothesis predicts something else for.
#[derive(Debug, Default)]
struct Contradictions {
    anywhere: usize,
    /// All conforming cases.
    conforming: usize,
    where_triggered: usize,
    /// All conforming cases that satisfy the trigger.
    triggered: usize,
}

impl Trials<'_> {
    /// The neighbors that show the same, and whose outputs may be evidence: those of a precision fallback are often golden's.
    pub fn telling_neighbors(&self) -> usize {
        let is_telling = |trial: &&Trial<'_>| {
            trial.drawn == Drawn::Neighbor && Prediction::may_have_evidence(trial.evaluated)
        };
        self.diverging.iter().filter(is_telling).count()
    }

    /// The cases on which the listed mutants called `name` fail; `None` if they explain too few, or too little.
    pub fn failures_of_listed(&self, name: &str) -> Option<Failures> {
        self.failures(Hypothesis::Listed(Combination::from_name(name)?), needed_by_listed())
    }

    /// The cases on which a hypothesis fails; `None` if it fails on too many, or if the evidence is not enough.
    pub fn failures(&self, hypothesis: Hypothesis, needed: f64) -> Option<Failures> {
        let considered: Vec<_> =
            self.diverging.iter().filter(|trial| !trial.is_of_another(hypothesis, &self.rivals)).collect();
        let tally = self.tally(hypothesis, &considered)?;
        let usual = tolerated(hypothesis, considered.len());
        let chosen = if tally.refuted > usual { considered.len() as f64 } else { 0.0 };
        if !tally.is_enough(hypothesis, needed + chosen) {
            tracing::trace!(%hypothesis, ?tally, "hypothesis has too little evidence");
            return None;
        }
        let contradictions = self.contradictions(hypothesis);
        let (contradicting, conforming) = contradictions.counted(self.circumstances.trigger);
        let others = contradictions.triggered + tally.supporting;
        let is_contradicted = contradictions.where_triggered * TOLERATED_CONFORMING > others
            || chosen > 0.0 && !are_few_beside_others(contradicting, conforming);
        tracing::debug!(%hypothesis, ?tally, ?contradictions, "hypothesis has enough evidence");
        if is_contradicted {
            return None;
        }
        let if_many = |cases: usize| if cases * TOLERATED > self.diverging.len() { cases } else { 0 };
        // a few may well show another bug
        let left = if_many(self.diverging.len() - considered.len());
        let silent = if_many(tally.silent);
        let is_restricted = matches!(hypothesis, Hypothesis::Composed(edit) if edit.is_restricted());
        let (diverging, conforming) = (tally.refuted, contradictions.anywhere);
        Some(Failures { diverging, contradicting, silent, is_restricted, conforming, left })
    }

    /// How a hypothesis does on diverging cases; `None` as soon as it fails on too many of them.
    fn tally(&self, hypothesis: Hypothesis, considered: &[&Trial<'_>]) -> Option<Tally> {
        let mut tally = Tally::default();
        let (usual, most) =
            (tolerated(hypothesis, considered.len()), tolerated_beside_others(hypothesis, considered.len()));
        for (place, trial) in considered.iter().enumerate() {
            tally.add(trial, trial.predicted_with_others(hypothesis, self.circumstances.arithmetic));
            // what changes nothing in most cases has not enough evidence, whatever the others say
            let is_silent = tally.silent > tally.supporting + considered.len() - place - 1;
            // witnesses have the graph of the minimal case, and hardly another bug
            let is_refuted = tally.refuted > most || tally.refuted_witnesses > usual;
            if is_refuted || is_silent && !is_listed(hypothesis) {
                tracing::trace!(%hypothesis, ?tally, "hypothesis fails on too many cases");
                return None;
            }
        }
        Some(tally)
    }

    /// What a hypothesis says of the conforming cases.
    fn contradictions(&self, hypothesis: Hypothesis) -> Contradictions {
        let mut contradictions =
            Contradictions { conforming: self.conforming.len(), ..Contradictions::default() };
        for trial in &self.conforming {
            let is_refuted = |concerned: Option<&[&Node]>| {
                let arithmetic = self.circumstances.arithmetic;
                trial.prediction(hypothesis, arithmetic, concerned) == Prediction::Refuted
            };
            contradictions.anywhere += usize::from(is_refuted(None));
            if let Some(concerned) = &trial.concerned {
                contradictions.triggered += 1;
                contradictions.where_triggered += usize::from(is_refuted(Some(concerned)));
            }
        }
        contradictions
    }
}

impl Contradictions {
    /// Those that count: where the trigger holds if there is one; and of how many cases.
    const fn counted(&self, trigger: Option<&Trigger>) -> (usize, usize) {
        match trigger {
            Some(_) => (self.where_triggered, self.triggered),
            None => (self.anywhere, self.conforming),
        }
    }
}

impl Tally {
    fn add(&mut self, trial: &Trial<'_>, predicted: Prediction) {
        let is_neighbor = trial.drawn == Drawn::Neighbor;
        self.neighbors += usize::from(is_neighbor);
        match predicted {
            Prediction::Reproduced(evidence) if evidence.bits > 0.0 => {
                self.bits += evidence.bits;
                self.supporting += 1;
                self.supporting_neighbors += usize::from(is_neighbor);
            }
            Prediction::Reproduced(_) => self.silent += 1,
            Prediction::Refuted => {
                self.refuted += 1;
                self.refuted_witnesses += usize::from(!is_neighbor);
                self.explained_by_rivals += usize::from(trial.is_explained_neighbor());
            }
            Prediction::Unknown => {}
        }
    }

    /// Whether there is as much evidence as is `needed`, from neighbors or, if few of them show the same, for a listed mutant from witnesses.
    fn is_enough(&self, hypothesis: Hypothesis, needed: f64) -> bool {
        let is_predictive = self.supporting_neighbors >= FEWEST && self.silent <= self.supporting;
        let is_decided_by_witnesses =
            is_listed(hypothesis) && self.neighbors < FEWEST && self.explained_by_rivals == 0;
        self.bits >= needed && (is_predictive || is_decided_by_witnesses)
    }
}

/// The diverging cases that a hypothesis may fail on because a few show another bug.
fn tolerated(hypothesis: Hypothesis, considered: usize) -> usize {
    match hypothesis {
        // a likely mistake: one case may show another bug
        Hypothesis::Listed(_) | Hypothesis::Both(_) => (considered / TOLERATED).max(1),
        Hypothesis::Composed(_) | Hypothesis::Pair(_) => considered / TOLERATED_OF_EDITS,
    }
}

/// Whether a hypothesis may predict another output for so many conforming cases if more diverging cases than usual show another bug.
const fn are_few_beside_others(contradicting: usize, conforming: usize) -> bool {
    contradicting * TOLERATED_CONFORMING_BESIDE_OTHERS <= conforming
}

/// The diverging cases that a hypothesis may fail on at all.
fn tolerated_beside_others(hypothesis: Hypothesis, considered: usize) -> usize {
    match hypothesis {
        Hypothesis::Listed(_) => (considered / TOLERATED_BESIDE_OTHERS).max(1),
        Hypothesis::Composed(edit) if !edit.is_restricted() => considered / TOLERATED_OF_EDITS_BESIDE_OTHERS,
        Hypothesis::Composed(_) | Hypothesis::Pair(_) | Hypothesis::Both(_) => {
            tolerated(hypothesis, considered)
        }
    }
}

impl Failures {
    /// Whether it says what every case shows that satisfies the trigger.
    pub const fn are_none_where_triggered(self) -> bool {
        self.unexplained() == 0 && self.contradicting == 0
    }

    pub fn are_fewer_where_triggered(self, other: Self) -> bool {
        self.where_triggered() < other.where_triggered()
    }

    /// How many cases it does not explain, and then how many contradict it, which tells one hypothesis from another.
    pub const fn where_triggered(self) -> (usize, usize) {
        (self.unexplained(), self.contradicting)
    }

    /// Cases that show the same, and that it does not explain.
    const fn unexplained(self) -> usize {
        self.diverging + self.left
    }
}

impl<'a> Trial<'a> {
    /// What a hypothesis says of a diverging case: at the nodes that its trigger concerns or, since a trigger may be inexact, at others.
    pub fn predicted(&self, hypothesis: Hypothesis, arithmetic: Arithmetic) -> Prediction {
        let predicted = |concerned: Option<&[&Node]>| self.prediction(hypothesis, arithmetic, concerned);
        let triggered = self.concerned.as_deref().map(|concerned| predicted(Some(concerned)));
        let predicted = match triggered {
            Some(triggered) if triggered != Prediction::Refuted || self.is_certain => triggered,
            _ => predicted(None),
        };
        match (predicted, hypothesis) {
            (Prediction::Reproduced(evidence), Hypothesis::Listed(combination))
                if evidence.bits == 0.0 && combination.is_precision() && self.is_diagnosed(combination) =>
            {
                Prediction::Reproduced(evidence.with_bits(BITS_OF_DIAGNOSIS))
            }
            _ => predicted,
        }
    }

    /// What a hypothesis says of a diverging case or, if that is refuted and the hypothesis is a listed mutant, what it says together with
    /// another one: a backend with two bugs shows both in some cases.
    fn predicted_with_others(&self, hypothesis: Hypothesis, arithmetic: Arithmetic) -> Prediction {
        let predicted = self.predicted(hypothesis, arithmetic);
        match hypothesis {
            Hypothesis::Listed(Combination { mutants: [mutant], .. }) if predicted == Prediction::Refuted => {
                self.predictions.with_others(*mutant, || self.predicted_with_another(*mutant, arithmetic))
            }
            _ => predicted,
        }
    }

    /// What a mutant says of a diverging case together with the first other one with which it reproduces that, if neither does alone.
    fn predicted_with_another(&self, mutant: Mutant, arithmetic: Arithmetic) -> Prediction {
        let graph = &self.evaluated.encoded.case.graph;
        let chosen = (Mutant::ALL.len() as f64).log2();
        let with = |other: &Mutant| {
            let pair = MutantPair::new(mutant, *other).filter(|_| Combination::of(*other).concerns(graph))?;
            let predicted = |hypothesis| self.prediction(hypothesis, arithmetic, None);
            let Prediction::Reproduced(evidence) = predicted(Hypothesis::Both(pair)) else { return None };
            let is_needed = evidence.bits >= chosen + ENOUGH_BITS
                && predicted(Hypothesis::Listed(Combination::of(*other))) == Prediction::Refuted;
            is_needed.then(|| Prediction::Reproduced(evidence.with_bits(evidence.bits - chosen)))
        };
        Mutant::ALL.iter().find_map(with).unwrap_or(Prediction::Refuted)
    }

    /// What a hypothesis says of the nodes `concerned`, or wherever it applies.
    fn prediction(
        &self,
        hypothesis: Hypothesis,
        arithmetic: Arithmetic,
        concerned: Option<&[&Node]>,
    ) -> Prediction {
        let predict = |concerned| Prediction::of(hypothesis, self.evaluated, arithmetic, concerned);
        match concerned {
            Some(concerned) if !self.is_everywhere(hypothesis, concerned) => predict(Some(concerned)),
            _ => self.predictions.anywhere(hypothesis, || predict(None)),
        }
    }

    /// Whether a hypothesis applies to one node only, and that is `concerned`.
    fn is_everywhere(&self, hypothesis: Hypothesis, concerned: &[&Node]) -> bool {
        let applies = |node: &&Node| {
            hypothesis.operator().is_none_or(|operator| Operator::of(&node.op) == Some(operator))
        };
        let mut nodes = self.evaluated.encoded.case.graph.nodes.iter().filter(applies);
        let only = nodes.next().filter(|_| nodes.next().is_none());
        only.is_some_and(|only| concerned.iter().any(|node| std::ptr::eq(*node, only)))
    }

    fn is_diagnosed(&self, combination: Combination) -> bool {
        let is_meant = |name: &str| {
            name == combination.name
                || Combination::from_name(name).is_some_and(|named| named.is_part_of(&combination))
        };
        self.diagnosis().any(is_meant)
    }

    /// Whether a neighbor shows another bug than a listed mutant: others explain it, and none of them is a rival that may
    /// explain the minimal case too.
    pub fn is_of_another(&self, hypothesis: Hypothesis, rivals: &[&str]) -> bool {
        match hypothesis {
            Hypothesis::Listed(combination) => {
                self.is_explained_neighbor()
                    && !self.is_diagnosed(combination)
                    && !self.diagnosis().any(|name| rivals.contains(&name))
            }
            Hypothesis::Both(pair) => {
                let is_meant =
                    |name: &str| rivals.contains(&name) || pair.parts().iter().any(|part| part.name == name);
                self.is_explained_neighbor() && !self.diagnosis().any(is_meant)
            }
            Hypothesis::Composed(_) | Hypothesis::Pair(_) => false,
        }
    }

    /// Whether it is a neighbor that some listed mutant explains.
    fn is_explained_neighbor(&self) -> bool {
        self.drawn == Drawn::Neighbor && self.diagnosis().next().is_some()
    }

    /// The listed mutants that explain the case by itself.
    pub fn diagnosis(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let diagnoses = self.evaluated.divergences().iter().filter_map(|one| one.diagnosis.as_ref());
        diagnoses.flat_map(Diagnosis::mutant_names)
    }
}

const fn is_listed(hypothesis: Hypothesis) -> bool {
    matches!(hypothesis, Hypothesis::Listed(_) | Hypothesis::Both(_))
}

/// About what an evaluation of a case costs.
pub fn cost(evaluated: &Evaluated) -> u64 {
    let encoded = &evaluated.encoded;
    let size = encoded.size();
    (size.input_elements + size.initializer_elements) as u64 + encoded.macs
}

/// The evidence that one of so many candidates needs.
pub fn needed(candidates: usize) -> f64 {
    (candidates.max(1) as f64).log2() + ENOUGH_BITS
}

/// The evidence that a listed mutant needs.
pub fn needed_by_listed() -> f64 {
    needed(Combination::singles().chain(Combination::several()).count())
}

/// The nodes of a case that a trigger concerns; `None` if the case does not satisfy it.
pub fn of_trigger<'a>(evaluated: &'a Evaluated, trigger: &Trigger) -> Option<Vec<&'a Node>> {
    let case = &evaluated.encoded.case;
    let described = describe(case);
    let nodes = case.graph.nodes.iter().zip(concerned(&described, trigger));
    satisfies(&described, trigger)
        .then(|| nodes.filter(|(_, concerned)| *concerned).map(|(node, _)| node).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_contradiction_in_twenty_is_tolerated_beside_other_bugs() {
        assert!(are_few_beside_others(0, 0) && are_few_beside_others(1, 20) && are_few_beside_others(2, 42));
        assert!(!are_few_beside_others(1, 19) && !are_few_beside_others(3, 42));
    }
}
