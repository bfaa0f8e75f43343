//! What a hypothesis says of a case that ran.

use std::collections::HashSet;

use twinfer_case::{Case, RunOutput};
use twinfer_golden::{
    Agreement, Arithmetic, Evaluation, Hypothesis, Limits, Operator, Reference, Unknown, evaluate_edited,
};
use twinfer_onnx::{Node, Tensor};

use super::fit::{FAR_CLOSER, MANY, deviation, distance, infers};
use crate::Evaluated;

/// The most bits of evidence that one element gives.
const MOST_BITS: f64 = 12.0;

/// The evidence that an extent gives if golden has another.
const BITS_OF_EXTENT: f64 = 3.0;

/// The evidence in bits of a zero with the right sign.
const BITS_OF_SIGN: f64 = 1.0;

/// The share of the largest element that is taken to be distinguished at least where nothing tells how close neighboring values lie.
const RESOLUTION: f64 = 1e-4;

/// Nodes that are tried one by one at most.
const MOST_NODES: usize = 8;

/// The limits on the evaluation of a hypothesis: many are tried.
const LIMITS: Limits = Limits { elements: 1 << 20, multiply_accumulates: 1 << 22 };

/// Whether golden reproduces what a backend gave for a case if a hypothesis holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prediction {
    /// It gives something else.
    Refuted,
    /// It reproduces the output.
    Reproduced(Evidence),
    /// Golden does not tell what the output is, or nothing was returned.
    Unknown,
}

/// How closely a hypothesis reproduces an output, and what that tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// How improbable it is, in bits, that elements which differ from golden's are reproduced by chance. Zero if golden reproduces the output
    /// too.
    pub bits: f64,
    /// The largest difference; `None` if only shapes are known.
    pub residual: Option<f64>,
}

impl Prediction {
    /// What `hypothesis` says of a case that a backend of this arithmetic ran. If it is known where what is wrong may show, it changes the
    /// nodes `concerned`. Otherwise it may change all nodes, or one of several: what shows under a condition need not show at each.
    pub fn of(
        hypothesis: Hypothesis,
        evaluated: &Evaluated,
        arithmetic: Arithmetic,
        concerned: Option<&[&Node]>,
    ) -> Self {
        let at_once = Self::of_nodes(hypothesis, evaluated, arithmetic, concerned);
        let is_meant = |node: &&Node| {
            hypothesis.operator().is_none_or(|operator| Operator::of(&node.op) == Some(operator))
        };
        let nodes: Vec<_> = evaluated.encoded.case.graph.nodes.iter().filter(is_meant).collect();
        if at_once != Self::Refuted || concerned.is_some() || !(2..=MOST_NODES).contains(&nodes.len()) {
            return at_once;
        }
        let mut each =
            nodes.iter().map(|node| Self::of_nodes(hypothesis, evaluated, arithmetic, Some(&[node])));
        each.find(|prediction| matches!(prediction, Self::Reproduced(_))).unwrap_or(at_once)
    }

    /// Whether a hypothesis that is reproduced has evidence in a case: only if its outputs, or their shapes, are not golden's.
    pub fn may_have_evidence(evaluated: &Evaluated) -> bool {
        let Evaluated { references, observation, .. } = evaluated;
        if observation.runs.is_empty() {
            let golden = references.first().and_then(|golden| golden.as_ref().ok());
            let inferred = observation.inferred_shapes.as_ref();
            return golden.zip(inferred).is_some_and(|(golden, inferred)| !infers(golden, inferred));
        }
        let is_golden = |(golden, run): (&Result<Evaluation, Unknown>, &RunOutput)| {
            golden.as_ref().is_ok_and(|golden| gives(golden, run))
        };
        !references.iter().zip(&observation.runs).all(is_golden)
    }

    /// What a hypothesis says that changes the nodes `only`, or every one.
    fn of_nodes(
        hypothesis: Hypothesis,
        evaluated: &Evaluated,
        arithmetic: Arithmetic,
        only: Option<&[&Node]>,
    ) -> Self {
        let Evaluated { encoded, references, observation, .. } = evaluated;
        let Case { graph, request, .. } = &encoded.case;
        let arithmetic = arithmetic.for_request(request);
        let evaluate =
            |inputs: &Vec<Tensor>| evaluate_edited(graph, inputs, arithmetic, hypothesis, only, LIMITS);
        let runs = &encoded.task.runs;
        if observation.runs.is_empty() {
            let shapes = observation.inferred_shapes.as_ref();
            let (Some(inferred), Some(Ok(golden)), Some(Ok(edited))) =
                (shapes, references.first(), runs.first().map(evaluate))
            else {
                return Self::Unknown;
            };
            return if infers(&edited, inferred) {
                let bits = golden.outputs.iter().zip(&edited.outputs).map(bits_of_shapes).sum();
                Self::Reproduced(Evidence { bits, residual: None })
            } else {
                Self::Refuted
            };
        }
        let mut evidence = Evidence { bits: 0.0, residual: Some(0.0) };
        for ((inputs, golden), run) in runs.iter().zip(references.iter()).zip(&observation.runs) {
            let Ok(golden) = golden else { return Self::Unknown };
            let edited = match evaluate(inputs) {
                Ok(edited) => edited,
                Err(Unknown::TooLarge { .. }) => return Self::Unknown,
                Err(_) => return Self::Refuted,
            };
            match of_run(golden, &edited, run) {
                Some(of_run) => evidence = evidence.and(of_run),
                None => return Self::Refuted,
            }
        }
        Self::Reproduced(evidence)
    }
}

impl Evidence {
    /// The same residual with so many bits of evidence.
    #[must_use]
    pub const fn with_bits(self, bits: f64) -> Self {
        Self { bits, ..self }
    }

    fn and(self, other: Self) -> Self {
        let residuals = self.residual.zip(other.residual);
        Self { bits: self.bits + other.bits, residual: residuals.map(|(one, other)| one.max(other)) }
    }
}

/// Whether golden gives the outputs of a run.
fn gives(golden: &Evaluation, run: &RunOutput) -> bool {
    let is_given = |(golden, output): (&Reference, &Tensor)| {
        let is_wrong = |(place, given)| matches!(golden.compare(place, given), Agreement::Wrong(_));
        golden.shape == output.shape && !output.to_f64().into_iter().enumerate().any(is_wrong)
    };
    golden.outputs.len() == run.outputs.len() && golden.outputs.iter().zip(&run.outputs).all(is_given)
}

/// The evidence of a run; `None` if the edit does not reproduce it.
fn of_run(golden: &Evaluation, edited: &Evaluation, run: &RunOutput) -> Option<Evidence> {
    if edited.outputs.len() != run.outputs.len() {
        return None;
    }
    let outputs = golden.outputs.iter().zip(&edited.outputs).zip(&run.outputs);
    let mut evidence = outputs.map(|((golden, edited), output)| of_output(golden, edited, output));
    let none = Evidence { bits: 0.0, residual: Some(0.0) };
    evidence.try_fold(none, |evidence, of_output| Some(evidence.and(of_output?)))
}

fn of_output(golden: &Reference, edited: &Reference, output: &Tensor) -> Option<Evidence> {
    if edited.shape != output.shape {
        return None;
    }
    let has_golden_shape = golden.shape == output.shape;
    let given = output.to_f64();
    let (mut bits, mut seen) = (bits_of_shapes((golden, edited)), HashSet::new());
    let scale = Scale::of(golden, &given);
    let Distance { residual, closeness } = Distance::of(edited, &given)?;
    let mut far_closer = 0_usize;
    for (place, given) in given.iter().copied().enumerate() {
        let deviation = match golden.compare(place, given) {
            _ if !has_golden_shape => f64::INFINITY,
            Agreement::Wrong(deviation) => deviation,
            Agreement::Exact | Agreement::Rounded(_) | Agreement::Free => continue,
        };
        let bound = edited.bound.get(place).copied().unwrap_or(f64::INFINITY);
        // where golden has a zero of the other sign, an edit that knows the sign has it right, or it would be refuted
        let is_sign_of_zero = deviation == 0.0 && bound == 0.0 && edited.has_signed_zeros;
        if is_sign_of_zero && seen.insert(given.to_bits()) {
            bits += BITS_OF_SIGN;
        }
        let (is_excluded, is_far) = (2.0 * bound < deviation, FAR_CLOSER * closeness < deviation);
        // an edit whose bound holds golden's value too says nothing, and equal elements say it once
        if is_excluded && seen.insert(given.to_bits()) {
            bits += scale.bits(bound);
        } else if is_far && !is_excluded && seen.insert(given.to_bits()) {
            far_closer += 1;
        }
    }
    // unless it is far closer everywhere
    if far_closer >= MANY {
        bits += far_closer as f64 * scale.bits(closeness);
    }
    Some(Evidence { bits, residual: Some(residual) })
}

/// How far the elements of an output are from what an edit predicts.
struct Distance {
    /// The largest difference of an element that is not known exactly.
    residual: f64,
    /// The largest difference of any element, also of one that golden leaves open.
    closeness: f64,
}

impl Distance {
    /// The distance of the elements `given`; `None` if one of them is wrong.
    fn of(edited: &Reference, given: &[f64]) -> Option<Self> {
        let none = Self { residual: 0.0, closeness: 0.0 };
        given.iter().enumerate().try_fold(none, |Self { residual, closeness }, (place, given)| {
            let agreement = edited.compare(place, *given);
            let distance = distance(edited, (place, *given), agreement);
            let is_wrong = matches!(agreement, Agreement::Wrong(_));
            let (residual, closeness) = (residual.max(deviation(agreement)), closeness.max(distance));
            (!is_wrong).then_some(Self { residual, closeness })
        })
    }
}

/// How far the elements of an output are apart.
struct Scale {
    range: f64,
    step: f64,
}

impl Scale {
    fn of(golden: &Reference, given: &[f64]) -> Self {
        let finite = golden.values.iter().chain(given).copied().filter(|x| x.is_finite());
        let (least, largest) =
            finite.fold((0.0_f64, 0.0_f64), |(least, largest), x| (least.min(x), largest.max(x)));
        let range = largest - least;
        let step = golden.quantization_step.or(golden.grid_step).filter(|step| *step > 0.0);
        Self { range, step: step.unwrap_or(range * RESOLUTION) }
    }

    /// The evidence of an element that is reproduced to within `bound`.
    fn bits(&self, bound: f64) -> f64 {
        let resolution = self.step.max(2.0 * bound);
        if resolution > 0.0 { (1.0 + self.range / resolution).log2().min(MOST_BITS) } else { 0.0 }
    }
}

fn bits_of_shapes((golden, edited): (&Reference, &Reference)) -> f64 {
    if golden.shape.len() != edited.shape.len() {
        return BITS_OF_EXTENT;
    }
    let extents = golden.shape.iter().zip(&edited.shape);
    BITS_OF_EXTENT * extents.filter(|(golden, edited)| golden != edited).count() as f64
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;

    fn evaluation(values: &[f64], bound: f64) -> Evaluation {
        let reference = Reference {
            dtype: DataType::Float,
            shape: vec![values.len()],
            values: values.to_vec(),
            bound: vec![bound; values.len()],
            grid_step: None,
            quantization_step: None,
            has_signed_zeros: false,
        };
        Evaluation { outputs: vec![reference], unspecified: Vec::new(), open: Vec::new() }
    }

    /// The evidence of an edit with these values if golden has zeros, and the backend gave `given`.
    fn evidence(edited: &[f64], bound: f64, given: &[f64]) -> Option<Evidence> {
        let output = Tensor::from_f64(DataType::Float, vec![given.len()], given).expect("a vector");
        let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
        of_run(&evaluation(&vec![0.0; given.len()], 0.0), &evaluation(edited, bound), &run)
    }

    fn bits(edited: &[f64], bound: f64, given: &[f64]) -> Option<f64> {
        Some(evidence(edited, bound, given)?.bits)
    }

    #[test]
    fn sign_of_a_zero_is_one_bit_of_evidence() {
        let with_signs = |values: &[f64]| {
            let mut evaluation = evaluation(values, 0.0);
            evaluation.outputs[0].has_signed_zeros = true;
            evaluation
        };
        let bits = |edited: &Evaluation, given: f64| {
            let output = Tensor::from_f64(DataType::Float, vec![2], &[given, given]).expect("a vector");
            let run = RunOutput { outputs: vec![output], intermediates: Vec::new() };
            of_run(&with_signs(&[0.0, 0.0]), edited, &run).map(|evidence| evidence.bits)
        };
        assert_eq!(bits(&with_signs(&[-0.0, -0.0]), -0.0), Some(1.0), "each value once");
        assert_eq!(bits(&with_signs(&[-0.0, 0.0]), -0.0), None);
        assert_eq!(bits(&evaluation(&[-0.0, -0.0], 0.0), -0.0), Some(0.0), "it says nothing about signs");
        assert_eq!(bits(&with_signs(&[0.0, 0.0]), 0.0), Some(0.0), "golden gives it too");
    }

    #[test]
    fn one_element_that_differs_refutes_an_edit() {
        assert_eq!(evidence(&[1.0, 2.0], 0.0, &[1.0, 3.0]), None);
        assert_eq!(evidence(&[1.0, 2.0], 0.25, &[1.0, 2.25]).and_then(|one| one.residual), Some(0.25));
    }

    #[test]
    fn evidence_is_what_golden_does_not_give_and_each_value_once() {
        let one = bits(&[8.0], 0.0, &[8.0]).expect("reproduced");
        assert!(one > 10.0, "{one}");
        assert_eq!(bits(&[8.0, 8.0], 0.0, &[8.0, 8.0]), Some(one));
        assert!(bits(&[8.0, 4.0], 0.0, &[8.0, 4.0]).is_some_and(|two| two > 1.5 * one));
        assert_eq!(bits(&[0.0], 0.0, &[0.0]), Some(0.0), "golden gives it too");
        let run = |given: f64| {
            let output = Tensor::from_f64(DataType::Float, vec![1], &[given]).expect("a vector");
            RunOutput { outputs: vec![output], intermediates: Vec::new() }
        };
        assert!(gives(&evaluation(&[0.0], 0.0), &run(0.0)) && !gives(&evaluation(&[0.0], 0.0), &run(8.0)));
        assert!(!gives(&evaluation(&[0.0, 0.0], 0.0), &run(0.0)), "another shape");
        assert_eq!(bits(&[8.0], 9.0, &[8.0]), Some(0.0), "the bound holds golden's value");
        let close = bits(&[8.0, 4.0, 6.0, 5.0], 9.0, &[8.001, 4.0, 6.0, 5.0]).expect("within the bound");
        assert!(close > 3.0 * one, "golden is far from all");
        assert_eq!(
            bits(&[8.0, 4.0, 6.0, 5.0], 9.0, &[8.0, 4.5, 6.0, 5.0]),
            Some(0.0),
            "one is not far closer"
        );
        assert_eq!(bits(&[8.0, 4.0, 6.0], 9.0, &[8.0, 4.0, 6.0]), Some(0.0), "three may be by chance");
    }
}
