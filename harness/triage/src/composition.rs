//! *Composition*: which mutants explain a minimal case. An explanation must predict: it reproduces the minimal case, and other cases that
//! show the same, on values that were not chosen for it. Listed mutants that reproduce the minimal case come first; if none of them
//! predicts, edits of golden are searched.

use twinfer_case::{Arithmetic, Case, Diagnosis, Kind, ReproducingMutant, Trigger};
use twinfer_checks::{Evaluated, Prediction};
use twinfer_golden::{Combination, Edit, Hypothesis, Operator};
use twinfer_onnx::Node;
use twinfer_triggers::{concerned, describe, satisfies};

use crate::{
    diverging_case::DivergingCase,
    symptom::{Symptom, are_of_values},
};

/// The evidence in bits that an explanation needs beyond what chooses it among all that are tried.
const ENOUGH_BITS: f64 = 20.0;

/// The evidence in bits of a case of which the diagnosis names a mutant with bounds so wide that they hold golden's values too: as many zero
/// bits rule out chance.
const BITS_OF_DIAGNOSIS: f64 = 12.0;

/// Neighbors that show the same and that an explanation must reproduce with evidence at least: witnesses have the structure of the
/// minimal case, so that many edits agree on all of them.
const FEWEST: usize = 4;

/// Of the cases that show the same, an explanation may fail on one in this many: another bug may show there.
const TOLERATED: usize = 10;

/// The same for edits, of which there are so many that one may be right about most cases by accident.
const TOLERATED_OF_EDITS: usize = 20;

/// Of the cases that conform although the trigger holds, an explanation may predict another output for one in this many.
const TOLERATED_CONFORMING: usize = 4;

/// Explanations that are reported as one answer at most. More do not tell what is wrong.
const MOST_ALTERNATIVES: usize = 6;

/// Cases of each kind that hypotheses are tried on at most.
const MOST_CASES: usize = 64;

/// Why a case ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// It has the structure of the minimal case, and other values.
    Witness,
    /// It has the operator of the minimal case.
    Neighbor,
}

/// The cases that ran in experiments with a minimal case.
#[derive(Default)]
pub struct Observations {
    diverging: Vec<(Drawn, Evaluated)>,
    conforming: Vec<Evaluated>,
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
struct Trial<'a> {
    evaluated: &'a Evaluated,
    drawn: Drawn,
    /// The nodes that may show what is wrong; `None` if that is not known, or if the case does not satisfy the trigger.
    concerned: Option<Vec<&'a Node>>,
    /// Whether nearly all cases that satisfy the trigger show what is wrong.
    is_certain: bool,
}

/// The cases as they are tried.
struct Trials<'a> {
    diverging: Vec<Trial<'a>>,
    conforming: Vec<Trial<'a>>,
    /// The listed mutants that reproduce the minimal case, or its graph with other values.
    rivals: Vec<&'a str>,
    circumstances: Circumstances<'a>,
}

/// How a hypothesis that reproduces the minimal case did on the other cases: the less the better, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Failures {
    /// Cases that show the same, and that it does not reproduce.
    diverging: usize,
    /// Conforming cases for which it predicts something else where the trigger holds, or anywhere if there is none.
    contradicting: usize,
    is_restricted: bool,
    /// Conforming cases for which it predicts something else: it does not say when it applies.
    conforming: usize,
    /// Cases that show the same and that are left to other listed mutants, if they are many.
    left: usize,
}

impl Observations {
    /// Adds a case that ran.
    pub fn add(&mut self, symptom: &Symptom, evaluated: Evaluated, drawn: Drawn) {
        if symptom.recurring_in(&evaluated).is_some() {
            if self.diverging.len() < MOST_CASES {
                self.diverging.push((drawn, evaluated));
            }
        } else if evaluated.divergences().is_empty() && self.conforming.len() < MOST_CASES {
            self.conforming.push(evaluated);
        }
    }

    /// The edits that explain all cases if no listed mutant but those `refuted` explains `minimal`, or none but one of precision, whose wide
    /// bounds hold much that an edit predicts; before them the listed mutants that are no explanation then.
    pub fn settle(
        &self,
        minimal: &DivergingCase,
        refuted: Vec<String>,
        circumstances: Circumstances<'_>,
    ) -> (Vec<String>, Option<Diagnosis>) {
        let diagnosis = minimal.symptom.diagnosis();
        let listed: Vec<_> = diagnosis.iter().filter(|name| !refuted.contains(name)).collect();
        let is_precision_alone = listed.iter().all(|name| is_of_precision(name));
        let trials = self.trials(&minimal.symptom, circumstances);
        let fewest = listed.iter().filter_map(|name| trials.failures_of_listed(name)).min();
        if !is_precision_alone && fewest.is_some_and(Failures::are_none_where_triggered) {
            return (refuted, None);
        }
        let is_listed = |edit: &str| listed.iter().any(|name| edit.ends_with(&format!("-{name}")));
        let is_better = |failures: &Failures| {
            is_precision_alone || fewest.is_none_or(|fewest| failures.are_fewer_where_triggered(fewest))
        };
        let composed = trials.explain(minimal);
        let composed = composed.filter(|(failures, _)| is_better(failures)).map(|(_, composed)| composed);
        match composed.filter(|composed| !composed.mutant_names().any(is_listed)) {
            Some(composed) => (diagnosis.to_vec(), Some(composed)),
            None => (refuted, None),
        }
    }

    /// The listed mutants that explain the minimal case of `symptom` alone, and not the other cases.
    pub fn refuted(&self, symptom: &Symptom, circumstances: Circumstances<'_>) -> Vec<String> {
        let trials = self.trials(symptom, circumstances);
        let explains = |name: &&String| trials.failures_of_listed(name).is_some();
        symptom.diagnosis().iter().filter(|name| !explains(name)).cloned().collect()
    }

    fn trials<'a>(&'a self, symptom: &'a Symptom, circumstances: Circumstances<'a>) -> Trials<'a> {
        let trial = |(drawn, evaluated): (Drawn, &'a Evaluated)| Trial {
            evaluated,
            drawn,
            concerned: circumstances.trigger.and_then(|trigger| of_trigger(evaluated, trigger)),
            is_certain: circumstances.trigger.is_some_and(Trigger::is_sufficient),
        };
        let conforming = self.conforming.iter().map(|evaluated| (Drawn::Neighbor, evaluated));
        let diverging = self.diverging.iter().map(|(drawn, evaluated)| (*drawn, evaluated));
        let mut diverging: Vec<_> = diverging.map(trial).collect();
        // most hypotheses fail on the first few
        diverging.sort_by_key(|trial| cost(trial.evaluated));
        let of_witnesses = diverging.iter().filter(|trial| trial.drawn == Drawn::Witness);
        let of_minimal = symptom.diagnosis().iter().map(String::as_str);
        let rivals = of_minimal.chain(of_witnesses.flat_map(Trial::diagnosis)).collect();
        Trials { diverging, conforming: conforming.map(trial).collect(), rivals, circumstances }
    }
}

impl Trials<'_> {
    /// The edits that explain `minimal`, between which the cases do not distinguish; `None` if none does. What they predict where the
    /// trigger does not hold does not matter.
    fn explain(&self, minimal: &DivergingCase) -> Option<(Failures, Diagnosis)> {
        // an explanation makes a precision fallback of wrong values, and another one may be right
        let is_of_values = are_of_values(minimal.symptom.kind(), Kind::WrongValues);
        if !is_of_values && minimal.symptom.kind() != Kind::WrongShape || self.telling_neighbors() < FEWEST {
            return None;
        }
        let arithmetic = self.circumstances.arithmetic;
        let candidates = candidates(&minimal.evaluated.encoded.case);
        let needed = needed(candidates.len());
        let mut explaining = Vec::new();
        for edit in candidates {
            let hypothesis = Hypothesis::Composed(edit);
            // neighbors are small, and refute nearly all edits; a minimal case that nothing made smaller may be a whole model
            if let Some(failures) = self.failures(hypothesis, needed)
                && let Prediction::Reproduced(evidence) =
                    Prediction::of(hypothesis, &minimal.evaluated, arithmetic, None)
                && evidence.bits > 0.0
            {
                explaining.push((failures, edit, evidence.residual));
            }
        }
        let least = explaining.iter().map(|(failures, ..)| *failures).min()?;
        explaining.retain(|(failures, ..)| *failures == least);
        let residuals = explaining.iter().map(|(.., residual)| *residual);
        let residual = residuals.reduce(|one, other| Some(one?.max(other?)))?;
        let reproducing =
            |(_, edit, _): &(_, Edit, _)| ReproducingMutant { name: edit.to_string(), clause: edit.clause() };
        let mutants = explaining.iter().map(reproducing).collect();
        let diagnosis = Diagnosis { mutants, residual, unexplained: None };
        (explaining.len() <= MOST_ALTERNATIVES).then_some((least, diagnosis))
    }

    /// The neighbors that show the same, and whose outputs may be evidence: those of a precision fallback are often golden's.
    fn telling_neighbors(&self) -> usize {
        let is_telling = |trial: &&Trial<'_>| {
            trial.drawn == Drawn::Neighbor && Prediction::may_have_evidence(trial.evaluated)
        };
        self.diverging.iter().filter(is_telling).count()
    }

    /// The cases on which the listed mutants called `name` fail; `None` if they explain nothing.
    fn failures_of_listed(&self, name: &str) -> Option<Failures> {
        let count = Combination::singles().chain(Combination::several()).count();
        let listed = Combination::from_name(name).map(Hypothesis::Listed)?;
        self.failures(listed, needed(count))
    }

    /// The cases on which a hypothesis fails; `None` if it fails on too many, or if the evidence is not enough.
    fn failures(&self, hypothesis: Hypothesis, needed: f64) -> Option<Failures> {
        let arithmetic = self.circumstances.arithmetic;
        let (mut bits, mut supporting, mut silent, mut diverging) = (0.0, 0, 0, 0);
        let (mut supporting_neighbors, mut explained_by_rivals) = (0, 0);
        let considered: Vec<_> =
            self.diverging.iter().filter(|trial| !trial.is_of_another(hypothesis, &self.rivals)).collect();
        // beside a listed mutant, which is a likely mistake, one case may show another bug
        let tolerated = match hypothesis {
            Hypothesis::Listed(_) => (considered.len() / TOLERATED).max(1),
            Hypothesis::Composed(_) => considered.len() / TOLERATED_OF_EDITS,
        };
        for (place, trial) in considered.iter().enumerate() {
            let predicted = trial.predicted(hypothesis, arithmetic);
            match predicted {
                Prediction::Reproduced(evidence) if evidence.bits > 0.0 => {
                    bits += evidence.bits;
                    supporting += 1;
                    supporting_neighbors += usize::from(trial.drawn == Drawn::Neighbor);
                }
                Prediction::Reproduced(_) => silent += 1,
                Prediction::Refuted => {
                    diverging += 1;
                    explained_by_rivals += usize::from(trial.is_explained_neighbor());
                }
                Prediction::Unknown => {}
            }
            // what changes nothing in most cases has not enough evidence, whatever the others say
            let is_silent = !is_listed(hypothesis) && silent > supporting + considered.len() - place - 1;
            if diverging > tolerated || is_silent {
                return None;
            }
        }
        let is_enough = bits >= needed && supporting_neighbors >= FEWEST && silent <= supporting;
        let neighbors = considered.iter().filter(|trial| trial.drawn == Drawn::Neighbor).count();
        let is_decided_by_witnesses =
            is_listed(hypothesis) && neighbors < FEWEST && bits >= needed && explained_by_rivals == 0;
        if !is_enough && !is_decided_by_witnesses {
            return None;
        }
        let (mut conforming, mut meant, mut contradicting) = (0, 0, 0);
        for Trial { evaluated, concerned, .. } in &self.conforming {
            let is_refuted = |concerned: Option<&[&Node]>| {
                Prediction::of(hypothesis, evaluated, arithmetic, concerned) == Prediction::Refuted
            };
            conforming += usize::from(is_refuted(None));
            if let Some(concerned) = concerned {
                meant += 1;
                contradicting += usize::from(is_refuted(Some(concerned)));
            }
        }
        let is_contradicted = contradicting * TOLERATED_CONFORMING > meant + supporting;
        let is_restricted = matches!(hypothesis, Hypothesis::Composed(edit) if edit.is_restricted());
        if self.circumstances.trigger.is_none() {
            contradicting = conforming;
        }
        // a few may well show another bug
        let left = Some(self.diverging.len() - considered.len());
        let left = left.filter(|left| left * TOLERATED > self.diverging.len()).unwrap_or(0);
        (!is_contradicted).then_some(Failures { diverging, contradicting, is_restricted, conforming, left })
    }
}

impl Failures {
    /// Whether it says what every case shows that satisfies the trigger.
    const fn are_none_where_triggered(self) -> bool {
        self.unexplained() == 0 && self.contradicting == 0
    }

    fn are_fewer_where_triggered(self, other: Self) -> bool {
        (self.unexplained(), self.contradicting) < (other.unexplained(), other.contradicting)
    }

    /// Cases that show the same, and that it does not explain.
    const fn unexplained(self) -> usize {
        self.diverging + self.left
    }
}

impl<'a> Trial<'a> {
    /// What a hypothesis says of a diverging case: at the nodes that its trigger concerns or, since a trigger may be inexact, at others.
    fn predicted(&self, hypothesis: Hypothesis, arithmetic: Arithmetic) -> Prediction {
        let predicted =
            |concerned: Option<&[&Node]>| Prediction::of(hypothesis, self.evaluated, arithmetic, concerned);
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

    fn is_diagnosed(&self, combination: Combination) -> bool {
        self.diagnosis().any(|name| name == combination.name)
    }

    /// Whether a neighbor shows another bug than a listed mutant: others explain it, and none of them is a rival that may
    /// explain the minimal case too.
    fn is_of_another(&self, hypothesis: Hypothesis, rivals: &[&str]) -> bool {
        match hypothesis {
            Hypothesis::Listed(combination) => {
                self.is_explained_neighbor()
                    && !self.is_diagnosed(combination)
                    && !self.diagnosis().any(|name| rivals.contains(&name))
            }
            Hypothesis::Composed(_) => false,
        }
    }

    /// Whether it is a neighbor that some listed mutant explains.
    fn is_explained_neighbor(&self) -> bool {
        self.drawn == Drawn::Neighbor && self.diagnosis().next().is_some()
    }

    /// The listed mutants that explain the case by itself.
    fn diagnosis(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let diagnoses = self.evaluated.divergences().iter().filter_map(|one| one.diagnosis.as_ref());
        diagnoses.flat_map(Diagnosis::mutant_names)
    }
}

const fn is_listed(hypothesis: Hypothesis) -> bool {
    matches!(hypothesis, Hypothesis::Listed(_))
}

fn is_of_precision(name: &str) -> bool {
    Combination::from_name(name).is_some_and(|combination| combination.is_precision())
}

/// About what an evaluation of a case costs.
fn cost(evaluated: &Evaluated) -> u64 {
    let encoded = &evaluated.encoded;
    let size = encoded.size();
    (size.input_elements + size.initializer_elements) as u64 + encoded.macs
}

/// The evidence that one of so many candidates needs.
fn needed(candidates: usize) -> f64 {
    (candidates.max(1) as f64).log2() + ENOUGH_BITS
}

/// The nodes of a case that a trigger concerns; `None` if the case does not satisfy it.
fn of_trigger<'a>(evaluated: &'a Evaluated, trigger: &Trigger) -> Option<Vec<&'a Node>> {
    let case = &evaluated.encoded.case;
    let described = describe(case);
    let nodes = case.graph.nodes.iter().zip(concerned(&described, trigger));
    satisfies(&described, trigger)
        .then(|| nodes.filter(|(_, concerned)| *concerned).map(|(node, _)| node).collect())
}

/// The edits of the operators of a case.
fn candidates(case: &Case) -> Vec<Edit> {
    let mut operators: Vec<_> = case.graph.nodes.iter().filter_map(|node| Operator::of(&node.op)).collect();
    operators.sort_unstable();
    operators.dedup();
    operators.into_iter().flat_map(Edit::of).collect()
}

#[cfg(test)]
mod tests {
    use twinfer_case::{
        Description, EncodedCase, Expectation, Observation, Outcome, Recipe, Regime, Request, Run, RunOutput,
        Stage, TensorSource, VariantInfo,
    };
    use twinfer_checks::{golden, references};
    use twinfer_golden::{Limits, evaluate_edited};
    use twinfer_onnx::{Conv, DataType, Graph, Initializer, Node, Op, Tensor, ValueInfo};

    use super::*;
    use crate::witness::witnesses;

    fn drawn(shape: &[usize], seed: u64) -> Tensor {
        let regime = Regime::Exact { limit: 63, exponent: -3 };
        let recipe = Recipe { dtype: DataType::Float, shape: shape.to_vec(), regime, seed };
        recipe.materialize().expect("a small tensor")
    }

    /// A Conv of so many input and output channels, with a bias.
    fn case(inputs: usize, outputs: usize, seed: u64) -> Case {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        let initializer = |name: &str, tensor| Initializer { name: name.to_owned(), tensor };
        let node = Node {
            name: "conv".to_owned(),
            op: Op::Conv(Conv::default()),
            inputs: ["x", "w", "b"].map(str::to_owned).to_vec(),
            outputs: vec!["y".to_owned()],
        };
        let graph = Graph {
            opset: 17,
            inputs: vec![value("x")],
            initializers: vec![
                initializer("w", drawn(&[outputs, inputs, 2], seed + 1)),
                initializer("b", drawn(&[outputs], seed + 2)),
            ],
            nodes: vec![node],
            outputs: vec![value("y")],
        };
        Case {
            graph,
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: vec![TensorSource::Data(drawn(&[1, inputs, 4], seed + 3))] }],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    /// A case as it runs on a backend that makes this mistake.
    fn run(case: Case, mistake: Edit) -> Evaluated {
        let description = Description::new("b", "1", Stage::Execute);
        let variant = "external:b".parse().expect("a variant");
        let info = VariantInfo { variant, description, rung_of: None };
        let encoded = EncodedCase::encode(case).expect("a small case");
        let references = references(&encoded, &golden(), info.description.arithmetic);
        let (arithmetic, limits) = (info.description.arithmetic, Limits::default());
        let inputs = &encoded.task.runs[0];
        let given = evaluate_edited(
            &encoded.case.graph,
            inputs,
            arithmetic,
            Hypothesis::Composed(mistake),
            None,
            limits,
        );
        let output = given.expect("a valid graph").outputs[0].to_tensor().expect("a tensor");
        let mut observation = Observation::new(Stage::Execute, Outcome::Ok);
        observation.runs = vec![RunOutput { outputs: vec![output], intermediates: Vec::new() }];
        Evaluated::new(&info, encoded, references, observation)
    }

    /// The listed mutants that are refuted for a backend with this mistake after experiments with so many neighbors of a case, and the names
    /// of the edits that explain it.
    fn settled(minimal: Case, mistake: &str, neighbors: u64) -> (Vec<String>, Vec<String>) {
        let mistake = Edit::from_name(mistake).expect("it is an edit");
        let evaluated = run(minimal, mistake);
        let symptom = Symptom::of(&evaluated.divergences()[0], &evaluated);
        let minimal = DivergingCase { evaluated, symptom };
        let mut observations = Observations::default();
        for witness in witnesses(&minimal.evaluated.encoded.case) {
            observations.add(&minimal.symptom, run(witness, mistake), Drawn::Witness);
        }
        for seed in 1..=neighbors {
            let neighbor = case(1 + seed as usize % 3, 2 + seed as usize % 4, 10 * seed);
            observations.add(&minimal.symptom, run(neighbor, mistake), Drawn::Neighbor);
        }
        let circumstances = Circumstances { trigger: None, arithmetic: Arithmetic::default() };
        let refuted = observations.refuted(&minimal.symptom, circumstances);
        let (refuted, composed) = observations.settle(&minimal, refuted, circumstances);
        let edits = composed.iter().flat_map(Diagnosis::mutant_names).map(str::to_owned);
        (refuted, edits.collect())
    }

    /// The names of the edits that explain a backend with this mistake after experiments with so many neighbors.
    fn explained(mistake: &str, neighbors: u64) -> Vec<String> {
        settled(case(2, 3, 0), mistake, neighbors).1
    }

    /// A Conv of two output channels, the second of which has no bias.
    fn half_biased() -> Case {
        let mut case = case(2, 2, 0);
        case.graph.initializers[1].tensor =
            Tensor::from_f64(DataType::Float, vec![2], &[5.0, 0.0]).expect("a vector");
        case
    }

    #[test]
    fn edit_that_predicts_neighbors_explains_a_case() {
        for mistake in
            ["conv-bias-channel-next-around", "conv-weight-input-channel-reversed", "conv-bias-negated"]
        {
            let explained = explained(mistake, 12);
            assert!(explained.iter().any(|name| name == mistake), "{mistake}: {explained:?}");
            assert!(explained.len() <= 3, "{mistake}: {explained:?}");
        }
    }

    #[test]
    fn listed_mutant_that_does_not_predict_gives_way_to_an_edit() {
        // the last bias for all channels is none here
        let (refuted, edits) = settled(half_biased(), "conv-bias-channel-last", 12);
        assert_eq!(refuted, ["bias-dropped"]);
        assert!(edits.iter().any(|edit| edit == "conv-bias-channel-last"), "{edits:?}");
    }

    #[test]
    fn listed_mutant_that_predicts_stays() {
        assert_eq!(settled(half_biased(), "conv-bias-ignored", 12), (Vec::new(), Vec::new()));
    }

    #[test]
    fn few_witnesses_that_tell_little_decide_nothing() {
        /// A Conv with one output position, at which one output channel has a bias.
        fn small(seed: u64) -> Case {
            let mut small = half_biased();
            small.graph.initializers[0].tensor = drawn(&[2, 2, 2], seed);
            small.runs[0].inputs[0] = TensorSource::Data(drawn(&[1, 2, 2], seed + 1));
            small
        }
        let mistake = Edit::from_name("conv-bias-ignored").expect("it is an edit");
        let minimal = run(small(0), mistake);
        let symptom = Symptom::of(&minimal.divergences()[0], &minimal);
        let circumstances = Circumstances { trigger: None, arithmetic: Arithmetic::default() };
        let refuted = |witnesses: u64| {
            let mut observations = Observations::default();
            for seed in 1..=witnesses {
                observations.add(&symptom, run(small(10 * seed), mistake), Drawn::Witness);
            }
            observations.refuted(&symptom, circumstances).iter().any(|name| name == "bias-dropped")
        };
        assert_eq!([1, 2, 6].map(refuted), [true, true, false]);
    }

    #[test]
    fn neighbor_that_a_rival_explains_counts() {
        let mistake = Edit::from_name("conv-bias-ignored").expect("it is an edit");
        let evaluated = run(case(2, 3, 0), mistake);
        let trial =
            Trial { evaluated: &evaluated, drawn: Drawn::Neighbor, concerned: None, is_certain: false };
        let other =
            Combination::from_name("groups-interleaved").map(Hypothesis::Listed).expect("it is listed");
        assert!(trial.is_of_another(other, &["groups-interleaved"]));
        let rivals = ["bias-dropped", "groups-interleaved"];
        assert!(!trial.is_of_another(other, &rivals), "the minimal case is explained by both");
    }

    #[test]
    fn edit_that_only_witnesses_show_explains_nothing() {
        assert!(explained("conv-bias-channel-next-around", 0).is_empty());
    }
}
