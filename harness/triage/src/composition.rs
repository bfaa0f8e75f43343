//! *Composition*: which mutants explain a minimal case. An explanation must predict: it reproduces the minimal case, and other cases that
//! show the same, on values that were not chosen for it. Listed mutants that reproduce the minimal case come first; if none of them
//! predicts, wider ones that contain them, edits of golden, and pairs of these are searched.

use twinfer_case::{Case, Diagnosis, Kind, ReproducingMutant, Trigger};
use twinfer_checks::{Evaluated, Prediction};
use twinfer_golden::{Combination, Edit, Hypothesis, Operator};

use crate::{
    diverging_case::DivergingCase,
    pairs::{count_of_pairs, mutant_pairs},
    predictions::Predictions,
    symptom::{Symptom, are_of_values},
    trials::{
        Circumstances, Drawn, FEWEST, Failures, Trial, Trials, cost, needed, needed_by_listed, of_trigger,
    },
};

/// Explanations that are reported as one answer at most. More do not tell what is wrong.
const MOST_ALTERNATIVES: usize = 6;

/// Cases of each kind that hypotheses are tried on at most.
const MOST_CASES: usize = 64;

/// The cases that ran in experiments with a minimal case.
#[derive(Default)]
pub struct Observations {
    diverging: Vec<Ran>,
    conforming: Vec<Ran>,
}

/// A case that ran.
struct Ran {
    drawn: Drawn,
    evaluated: Evaluated,
    predictions: Predictions,
}

/// What explains a minimal case, and the cases on which that fails.
struct Explanation {
    failures: Failures,
    diagnosis: Diagnosis,
}

impl Observations {
    /// Adds a case that ran.
    pub fn add(&mut self, symptom: &Symptom, evaluated: Evaluated, drawn: Drawn) {
        let alike = if symptom.recurring_in(&evaluated).is_some() {
            &mut self.diverging
        } else if evaluated.divergences().is_empty() {
            &mut self.conforming
        } else {
            return;
        };
        if alike.len() < MOST_CASES {
            alike.push(Ran { drawn, evaluated, predictions: Predictions::default() });
        }
    }

    /// Looks for a better explanation of all cases if every listed mutant that reproduces `minimal` is refuted, or if only mutants of precision are left, whose
    /// wide bounds hold much that others predict. The better one may be a wider listed mutant, an edit, or a pair of these. Returns the listed
    /// mutants that explain nothing then, and the new explanation if there is one.
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
        let is_better = |failures: &Failures| {
            is_precision_alone || fewest.is_none_or(|fewest| failures.are_fewer_where_triggered(fewest))
        };
        let explained = trials.explain(minimal).filter(|explanation| is_better(&explanation.failures));
        let is_called_so = |name: &str| listed.iter().any(|listed| name.ends_with(&format!("-{listed}")));
        let is_listed = |Explanation { failures, diagnosis }: &Explanation| {
            // one of the same name may be about other tensors too
            let explains_more = fewest.is_some_and(|fewest| failures.are_fewer_where_triggered(fewest));
            !explains_more && diagnosis.mutant_names().any(is_called_so)
        };
        match explained.filter(|explanation| !is_listed(explanation)) {
            Some(Explanation { diagnosis: explanation, .. }) => {
                let refuted = diagnosis.iter().filter(|name| !is_part_of_any(name, &explanation));
                (refuted.cloned().collect(), Some(explanation))
            }
            None => (refuted, None),
        }
    }

    /// The listed mutants that reproduce the minimal case of `symptom` alone: other cases are not as they predict, or as others of them predict
    /// better.
    pub fn refuted(&self, symptom: &Symptom, circumstances: Circumstances<'_>) -> Vec<String> {
        let trials = self.trials(symptom, circumstances);
        let named = symptom.diagnosis().iter().map(|name| (name, trials.failures_of_listed(name)));
        let named: Vec<_> = named.collect();
        // wide bounds hold much that has another cause
        let is_precise = |name: &String| !is_of_precision(name);
        let precise = named.iter().filter(|(name, _)| is_precise(name)).filter_map(|(_, failures)| *failures);
        let least = precise.map(Failures::where_triggered).min();
        let explains = |(_, failures): &&(&String, Option<Failures>)| {
            failures.is_some_and(|failures| least.is_none_or(|least| failures.where_triggered() <= least))
        };
        named.iter().filter(|named| !explains(named)).map(|(name, _)| (*name).clone()).collect()
    }

    fn trials<'a>(&'a self, symptom: &'a Symptom, circumstances: Circumstances<'a>) -> Trials<'a> {
        let trial = |Ran { drawn, evaluated, predictions }: &'a Ran| Trial {
            evaluated,
            predictions,
            drawn: *drawn,
            concerned: circumstances.trigger.and_then(|trigger| of_trigger(evaluated, trigger)),
            is_certain: circumstances.trigger.is_some_and(Trigger::is_sufficient),
        };
        let mut diverging: Vec<_> = self.diverging.iter().map(trial).collect();
        // most hypotheses fail on the first few
        diverging.sort_by_key(|trial| cost(trial.evaluated));
        let of_witnesses = diverging.iter().filter(|trial| trial.drawn == Drawn::Witness);
        let of_minimal = symptom.diagnosis().iter().map(String::as_str);
        let rivals = of_minimal.chain(of_witnesses.flat_map(Trial::diagnosis)).collect();
        Trials { diverging, conforming: self.conforming.iter().map(trial).collect(), rivals, circumstances }
    }
}

impl Trials<'_> {
    /// What explains `minimal` beside the listed mutants that reproduce it, as alternatives between which the cases do not distinguish; `None`
    /// if nothing does. What it predicts where the trigger does not hold does not matter.
    fn explain(&self, minimal: &DivergingCase) -> Option<Explanation> {
        let wider = self.explain_by(minimal, wider(minimal.symptom.diagnosis()), needed_by_listed());
        // an explanation makes a precision fallback of wrong values, and another one may be right
        let is_of_values = are_of_values(minimal.symptom.kind(), Kind::WrongValues);
        let is_explicable = is_of_values || minimal.symptom.kind() == Kind::WrongShape;
        let is_settled = wider.as_ref().is_some_and(|wider| wider.failures.are_none_where_triggered());
        if is_settled || !is_explicable {
            return wider;
        }
        if wider.is_none() && is_of_values && minimal.symptom.diagnosis().is_empty() {
            let pairs = mutant_pairs(&minimal.evaluated, self.circumstances.arithmetic);
            let needed = needed(pairs.len());
            if let Some(explained) = self.explain_by(minimal, pairs.into_iter().map(Hypothesis::Both), needed)
            {
                return Some(explained);
            }
        }
        if self.telling_neighbors() < FEWEST {
            return wider;
        }
        let edits = edits_of(&minimal.evaluated.encoded.case);
        let composed =
            self.explain_by(minimal, edits.iter().copied().map(Hypothesis::Composed), needed(edits.len()));
        let explained = match (wider, composed) {
            (Some(wider), Some(composed)) if composed.failures.are_fewer_where_triggered(wider.failures) => {
                Some(composed)
            }
            (wider, composed) => wider.or(composed),
        };
        if explained.is_some() || !is_of_values {
            return explained;
        }
        let (pairs, needed) = (self.pairs(&edits), needed(count_of_pairs(&edits)));
        self.explain_by(minimal, pairs.into_iter().map(Hypothesis::Pair), needed)
    }

    /// The hypotheses that explain `minimal` best, as alternatives, if each has as many bits of evidence as are `needed`; `None` if none does.
    fn explain_by(
        &self,
        minimal: &DivergingCase,
        hypotheses: impl IntoIterator<Item = Hypothesis>,
        needed: f64,
    ) -> Option<Explanation> {
        let arithmetic = self.circumstances.arithmetic;
        let mut explaining = Vec::new();
        for hypothesis in hypotheses {
            // neighbors are small, and refute nearly all; a minimal case that nothing made smaller may be a whole model
            if let Some(failures) = self.failures(hypothesis, needed)
                && self.needs_all(hypothesis)
                && let Prediction::Reproduced(evidence) =
                    Prediction::of(hypothesis, &minimal.evaluated, arithmetic, None)
                && evidence.bits > 0.0
            {
                explaining.push((failures, hypothesis, evidence.residual));
            }
        }
        let failures = explaining.iter().map(|(failures, ..)| *failures).min()?;
        explaining.retain(|(of_one, ..)| *of_one == failures);
        let alike: Vec<_> = explaining.iter().map(|(_, hypothesis, _)| *hypothesis).collect();
        explaining.retain(|(_, hypothesis, _)| !alike.iter().any(|other| is_part_of(*other, *hypothesis)));
        let residuals = explaining.iter().map(|(.., residual)| *residual);
        let residual = residuals.reduce(|one, other| Some(one?.max(other?)))?;
        let reproducing = |(_, hypothesis, _): &(_, Hypothesis, _)| ReproducingMutant {
            name: hypothesis.to_string(),
            clause: hypothesis.clause(),
        };
        let mutants = explaining.iter().map(reproducing).collect();
        let diagnosis = Diagnosis { mutants, residual, unexplained: None, ..Diagnosis::default() };
        (explaining.len() <= MOST_ALTERNATIVES).then_some(Explanation { failures, diagnosis })
    }
}

/// Whether the listed mutants called `name` are a part of what explains a case, so that the name still says something true.
fn is_part_of_any(name: &str, explanation: &Diagnosis) -> bool {
    let mut wider = explanation.mutant_names().filter_map(Combination::from_name);
    Combination::from_name(name).is_some_and(|part| wider.any(|whole| part.is_part_of(&whole)))
}

/// Whether listed mutants are a part of others, so that the rest of these has no effect if both explain the same.
fn is_part_of(part: Hypothesis, whole: Hypothesis) -> bool {
    matches!((part, whole), (Hypothesis::Listed(part), Hypothesis::Listed(whole)) if part.is_part_of(&whole))
}

/// The listed mutants that make the mistake of one of those called `names` and another one too: smaller cases may show a part of it.
fn wider(names: &[String]) -> impl Iterator<Item = Hypothesis> {
    let parts: Vec<_> = names.iter().filter_map(|name| Combination::from_name(name)).collect();
    let listed = Combination::singles().chain(Combination::several());
    let is_wider = move |one: &Combination| !one.is_coarse() && parts.iter().any(|part| part.is_part_of(one));
    listed.filter(is_wider).map(Hypothesis::Listed)
}

fn is_of_precision(name: &str) -> bool {
    Combination::from_name(name).is_some_and(|combination| combination.is_precision())
}

/// The edits of the operators of a case.
fn edits_of(case: &Case) -> Vec<Edit> {
    let mut operators: Vec<_> = case.graph.nodes.iter().filter_map(|node| Operator::of(&node.op)).collect();
    operators.sort_unstable();
    operators.dedup();
    operators.into_iter().flat_map(Edit::of).collect()
}

#[cfg(test)]
mod tests {
    use twinfer_case::{
        Arithmetic, Description, EncodedCase, Expectation, Observation, Outcome, Recipe, Regime, Request,
        Run, RunOutput, Stage, TensorSource, VariantInfo,
    };
    use twinfer_checks::{golden, references};
    use twinfer_golden::{Limits, evaluate_edited};
    use twinfer_onnx::{
        AutoPad, Conv, DataType, Graph, Initializer, Node, Op, QuantizeLinear, Tensor, ValueInfo,
    };

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
    fn run(case: Case, mistake: Hypothesis) -> Evaluated {
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

    /// The listed mutants that are refuted for a backend with this mistake after experiments with so many neighbors of a case, and the names
    /// of the edits that explain it.
    fn settled(minimal: Case, mistake: &str, neighbors: u64) -> (Vec<String>, Vec<String>) {
        let neighbors =
            (1..=neighbors).map(|seed| case(1 + seed as usize % 3, 2 + seed as usize % 4, 10 * seed));
        settled_by(minimal, mistake, neighbors.collect())
    }

    /// The same for these neighbors.
    fn settled_by(minimal: Case, mistake: &str, neighbors: Vec<Case>) -> (Vec<String>, Vec<String>) {
        let mistake = Hypothesis::from_name(mistake).expect("it is listed, or an edit");
        let evaluated = run(minimal, mistake);
        let symptom = Symptom::of(&evaluated.divergences()[0], &evaluated);
        let minimal = DivergingCase { evaluated, symptom };
        let mut observations = Observations::default();
        for witness in witnesses(&minimal.evaluated.encoded.case) {
            observations.add(&minimal.symptom, run(witness, mistake), Drawn::Witness);
        }
        for neighbor in neighbors {
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
    fn explanation_with_narrow_bounds_comes_before_one_with_wide_bounds() {
        // sums in 16-bit floats have as many bits of significand, and bounds for any order of the sums
        let neighbors = (1..=12).map(|seed| case(8 + seed as usize % 9, 8, 10 * seed)).collect();
        let (refuted, edits) = settled_by(case(12, 8, 0), "conv-output-in-tf32", neighbors);
        assert_eq!(refuted, ["sums-in-half"]);
        assert_eq!(edits, ["conv-output-in-tf32"]);
    }

    #[test]
    fn listed_mutant_that_predicts_stays() {
        assert_eq!(settled(half_biased(), "conv-bias-ignored", 12), (Vec::new(), Vec::new()));
    }

    /// A Conv with a kernel of two elements that is padded so.
    fn same(auto_pad: AutoPad, seed: u64) -> Case {
        let mut same = case(1 + seed as usize % 2, 2, 10 * seed);
        same.graph.nodes[0].op = Op::Conv(Conv { auto_pad: Some(auto_pad), ..Conv::default() });
        same
    }

    #[test]
    fn mistake_in_both_directions_is_one() {
        let neighbors = || {
            let pads = [AutoPad::SameUpper, AutoPad::SameLower].into_iter().cycle();
            (1..=12).zip(pads).map(|(seed, auto_pad)| same(auto_pad, seed)).collect()
        };
        let minimal = || same(AutoPad::SameLower, 0);
        let (refuted, wider) = settled_by(minimal(), "same-swapped", neighbors());
        assert_eq!((refuted, wider), (Vec::new(), vec!["same-swapped".to_owned()]), "the name stays");
        assert_eq!(settled_by(minimal(), "same-lower-as-upper", neighbors()), (Vec::new(), Vec::new()));
    }

    /// Numbers beyond 32-bit integers, quantized with this zero point.
    fn quantized(zero_point: f64, seed: u64) -> Case {
        let mut quantized = case(1, 2, 0);
        let vector = |dtype, value| Tensor::from_f64(dtype, Vec::new(), &[value]).expect("a scalar");
        let graph = &mut quantized.graph;
        graph.initializers[0].tensor = vector(DataType::Float, 0.5 * (1 + seed % 3) as f64);
        graph.initializers[1].tensor = vector(DataType::Uint8, zero_point);
        graph.nodes[0].op = Op::QuantizeLinear(QuantizeLinear::default());
        graph.outputs[0].dtype = DataType::Uint8;
        let x = [f64::INFINITY, 1e12, -1e12, 7.0 * seed as f64, 30.0 + seed as f64];
        let x = Tensor::from_f64(DataType::Float, vec![1, 1, 5], &x).expect("a tensor");
        quantized.runs[0].inputs[0] = TensorSource::Data(x);
        quantized
    }

    #[test]
    fn alternative_that_others_contradict_is_none() {
        let neighbors = || (1..=12).map(|seed| quantized((seed % 4) as f64, seed)).collect();
        let settled = |mistake| settled_by(quantized(1.0, 0), mistake, neighbors());
        let (saturating, lowest) = ("quantized-through-saturating-int32", "quantized-through-int32");
        assert_eq!(settled(saturating), (vec![lowest.to_owned()], Vec::new()));
        assert_eq!(settled(lowest), (vec![saturating.to_owned()], Vec::new()));
    }

    #[test]
    fn edit_of_the_same_name_that_is_about_constants_too_is_another() {
        /// The same numbers as a constant, beside an input that nothing reads.
        fn constant(seed: u64) -> Case {
            let mut constant = quantized(2.0, seed);
            let TensorSource::Data(x) = &constant.runs[0].inputs[0] else { unreachable!("it is no recipe") };
            let x = Initializer { name: "x".to_owned(), tensor: x.clone() };
            constant.graph.initializers.push(x);
            constant.graph.inputs[0].name = "unread".to_owned();
            constant
        }
        let neighbors = || (1..=6).flat_map(|seed| [quantized(3.0, seed), constant(seed)]).collect();
        let settled = |mistake| settled_by(quantized(1.0, 0), mistake, neighbors());
        let (refuted, edits) = settled("quantizelinear-zero-point-ignored");
        assert_eq!(refuted, ["zero-point-ignored"]);
        assert!(edits.iter().any(|edit| edit == "quantizelinear-zero-point-ignored"), "{edits:?}");
        assert_eq!(settled("zero-point-ignored"), (Vec::new(), Vec::new()));
    }

    /// The listed mutants that are refuted, and the edits that explain a case, where so many neighbors show its mistake, others are wrong in
    /// another way, and others right.
    fn settled_beside_others(
        mistake: &str,
        alike: u64,
        otherwise_wrong: u64,
        right: u64,
    ) -> (Vec<String>, Vec<String>) {
        let named = |name: &str| Hypothesis::from_name(name).expect("it is listed, or an edit");
        let of_no_effect = "relu-dropped";
        let mistakes = [
            (mistake, alike),
            ("conv-weight-input-channel-reversed", otherwise_wrong),
            (of_no_effect, right),
        ];
        let mistakes = mistakes.iter().flat_map(|(mistake, count)| (0..*count).map(|_| named(mistake)));
        let evaluated = run(half_biased(), named(mistake));
        let symptom = Symptom::of(&evaluated.divergences()[0], &evaluated);
        let minimal = DivergingCase { evaluated, symptom };
        let mut observations = Observations::default();
        for (seed, mistake) in (1..).zip(mistakes) {
            observations.add(&minimal.symptom, run(case(3, 2, 10 * seed), mistake), Drawn::Neighbor);
        }
        let circumstances = Circumstances { trigger: None, arithmetic: Arithmetic::default() };
        let refuted = observations.refuted(&minimal.symptom, circumstances);
        let (refuted, composed) = observations.settle(&minimal, refuted, circumstances);
        (refuted, composed.iter().flat_map(Diagnosis::mutant_names).map(str::to_owned).collect())
    }

    #[test]
    fn edit_explains_a_case_beside_another_bug_of_the_operator() {
        const EDIT: &str = "conv-bias-channel-last";
        let is_explained = |alike, otherwise_wrong, right| {
            let (_, edits) = settled_beside_others(EDIT, alike, otherwise_wrong, right);
            edits.iter().any(|edit| edit == EDIT)
        };
        assert!(is_explained(16, 6, 0));
        assert!(!is_explained(12, 10, 0), "too many cases show another bug");
        // both biases of the first case that conforms are equal
        assert!(is_explained(16, 6, 1));
        assert!(!is_explained(16, 6, 2), "a case that conforms reads the other bias");
    }

    #[test]
    fn listed_mutant_stays_beside_another_bug_of_the_operator() {
        let refuted = |alike, otherwise_wrong, right| {
            settled_beside_others("conv-bias-ignored", alike, otherwise_wrong, right).0
        };
        assert_eq!(refuted(12, 8, 0), [""; 0]);
        assert_eq!(refuted(8, 12, 0), ["bias-dropped"], "most cases show another bug");
        assert_eq!(refuted(12, 8, 1), ["bias-dropped"], "a case that conforms has a bias");
    }

    #[test]
    fn two_mistakes_that_show_together_are_a_pair() {
        let pair = "conv-bias-negated+conv-weight-input-channel-reversed";
        let explained = explained(pair, 24);
        let is_same = |name: &String| {
            let mut edits: Vec<_> = name.split('+').collect();
            edits.sort_unstable();
            edits == ["conv-bias-negated", "conv-weight-input-channel-reversed"]
        };
        assert!(explained.iter().any(is_same), "{explained:?}");
    }

    #[test]
    fn two_listed_mistakes_that_show_together_are_a_pair() {
        assert_eq!(explained("kernel-reversed+bias-dropped", 0), ["kernel-reversed+bias-dropped"]);
        assert_eq!(explained("kernel-reversed+bias-dropped", 12), ["kernel-reversed+bias-dropped"]);
    }

    #[test]
    fn listed_mutant_stays_where_other_cases_show_another_one_too() {
        let named = |name: &str| Hypothesis::from_name(name).expect("it is listed, or an edit");
        let refuted = |other: &str| {
            let evaluated = run(half_biased(), named("bias-dropped"));
            let symptom = Symptom::of(&evaluated.divergences()[0], &evaluated);
            let mut observations = Observations::default();
            for seed in 1..12 {
                observations.add(&symptom, run(case(3, 2, 10 * seed), named(other)), Drawn::Neighbor);
            }
            let circumstances = Circumstances { trigger: None, arithmetic: Arithmetic::default() };
            observations.refuted(&symptom, circumstances)
        };
        assert_eq!(refuted("kernel-reversed+bias-dropped"), [""; 0]);
        assert_eq!(refuted("conv-bias-negated"), ["bias-dropped"], "none of them shows it");
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
        let mistake = Hypothesis::from_name("conv-bias-ignored").expect("it is an edit");
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
        let mistake = Hypothesis::from_name("conv-bias-ignored").expect("it is an edit");
        let evaluated = run(case(2, 3, 0), mistake);
        let trial = Trial {
            evaluated: &evaluated,
            predictions: &Predictions::default(),
            drawn: Drawn::Neighbor,
            concerned: None,
            is_certain: false,
        };
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
