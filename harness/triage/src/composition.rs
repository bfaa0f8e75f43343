//! *Composition*: which edits of golden explain a minimal case that no listed mutant explains. An edit must predict: it reproduces the
//! minimal case, and other cases that show the same, on values that were not chosen for it.

use twinfer_case::{Arithmetic, Case, Diagnosis, Kind, ReproducingMutant, Trigger};
use twinfer_checks::{Evaluated, Prediction};
use twinfer_golden::{Edit, Operator};
use twinfer_triggers::{describe, satisfies};

use crate::{diverging_case::DivergingCase, symptom::Symptom};

/// The evidence in bits that an explanation needs beyond what chooses it among all that are tried.
const ENOUGH_BITS: f64 = 20.0;

/// Neighbors that show the same and that an explanation must reproduce with evidence at least: witnesses have the structure of the
/// minimal case, so that many edits agree on all of them.
const FEWEST: usize = 4;

/// Of the cases that show the same, an explanation may fail on one in this many: another bug may show there.
const TOLERATED: usize = 10;

/// Of the cases that conform although the trigger holds, or if there is none of all that conform, an explanation may predict another output
/// for one in this many.
const TOLERATED_CONFORMING: usize = 4;

/// Explanations that are reported as one answer at most. More do not tell what is wrong.
const MOST_ALTERNATIVES: usize = 6;

/// Cases of each kind that edits are tried on at most.
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

/// How an edit that reproduces the minimal case did on the other cases: the less the better, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Failures {
    /// Cases that show the same, and that it does not reproduce.
    diverging: usize,
    /// Conforming cases for which it predicts something else: it does not say when it applies.
    conforming: usize,
    is_restricted: bool,
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

    /// The edits that explain `minimal`, between which the cases do not distinguish; `None` if none does. What they predict where `trigger`
    /// does not hold does not matter.
    pub fn explain(
        &self,
        minimal: &DivergingCase,
        trigger: Option<&Trigger>,
        arithmetic: Arithmetic,
    ) -> Option<Diagnosis> {
        if !matches!(minimal.symptom.kind(), Kind::WrongValues | Kind::WrongShape) {
            return None;
        }
        let candidates = candidates(&minimal.evaluated.encoded.case);
        let needed = (candidates.len().max(1) as f64).log2() + ENOUGH_BITS;
        let mut explaining = Vec::new();
        for edit in candidates {
            if let Prediction::Reproduced(evidence) = Prediction::of(edit, &minimal.evaluated, arithmetic)
                && evidence.bits > 0.0
                && let Some(failures) = self.failures(edit, needed, trigger, arithmetic)
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
        (explaining.len() <= MOST_ALTERNATIVES).then(|| Diagnosis {
            mutants: explaining.iter().map(reproducing).collect(),
            residual,
            unexplained: None,
        })
    }

    /// The cases on which `edit` fails; `None` if it fails on too many, or if the evidence is not enough.
    fn failures(
        &self,
        edit: Edit,
        needed: f64,
        trigger: Option<&Trigger>,
        arithmetic: Arithmetic,
    ) -> Option<Failures> {
        let (mut bits, mut supporting, mut diverging) = (0.0, 0, 0);
        for (drawn, evaluated) in &self.diverging {
            match Prediction::of(edit, evaluated, arithmetic) {
                Prediction::Reproduced(evidence) if evidence.bits > 0.0 => {
                    bits += evidence.bits;
                    supporting += usize::from(*drawn == Drawn::Neighbor);
                }
                Prediction::Reproduced(_) | Prediction::Refuted => diverging += 1,
                Prediction::Unknown => {}
            }
            if diverging > self.diverging.len() / TOLERATED {
                return None;
            }
        }
        if bits < needed || supporting < FEWEST {
            return None;
        }
        let is_refuted =
            |evaluated: &&Evaluated| Prediction::of(edit, evaluated, arithmetic) == Prediction::Refuted;
        let refuting: Vec<_> = self.conforming.iter().filter(is_refuted).collect();
        let is_meant = |evaluated: &&&Evaluated| is_triggered(evaluated, trigger);
        let meant = self.conforming.iter().filter(|evaluated| is_triggered(evaluated, trigger)).count();
        let is_contradicted =
            refuting.iter().filter(is_meant).count() * TOLERATED_CONFORMING > meant + supporting;
        (!is_contradicted).then(|| Failures {
            diverging,
            conforming: refuting.len(),
            is_restricted: edit.is_restricted(),
        })
    }
}

/// Whether a case satisfies a trigger; every case does if there is none.
fn is_triggered(evaluated: &Evaluated, trigger: Option<&Trigger>) -> bool {
    trigger.is_none_or(|trigger| satisfies(&describe(&evaluated.encoded.case), trigger))
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
        let given = evaluate_edited(&encoded.case.graph, inputs, arithmetic, mistake, None, limits);
        let output = given.expect("a valid graph").outputs[0].to_tensor().expect("a tensor");
        let mut observation = Observation::new(Stage::Execute, Outcome::Ok);
        observation.runs = vec![RunOutput { outputs: vec![output], intermediates: Vec::new() }];
        Evaluated::new(&info, encoded, references, observation)
    }

    /// The names of the edits that explain a backend with this mistake after experiments with so many neighbors.
    fn explained(mistake: &str, neighbors: u64) -> Vec<String> {
        let mistake = Edit::from_name(mistake).expect("it is an edit");
        let evaluated = run(case(2, 3, 0), mistake);
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
        let diagnosis = observations.explain(&minimal, None, Arithmetic::default());
        diagnosis.iter().flat_map(Diagnosis::mutant_names).map(str::to_owned).collect()
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
    fn edit_that_only_witnesses_show_explains_nothing() {
        assert!(explained("conv-bias-channel-next-around", 0).is_empty());
    }
}
