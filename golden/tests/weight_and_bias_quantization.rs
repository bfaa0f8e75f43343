//! Float weights and biases that ONNX Runtime quantizes between quantizers, and those that it leaves alone.

#[path = "support/sketch.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod sketch;

use sketch::{Parameters, Sketch, per_axis, per_tensor};
use twinfer_golden::{Arithmetic, Mutant, evaluate_as};
use twinfer_onnx::{Conv, DataType, Graph, Node, Op, Tensor, ValueInfo};

/// In 256 levels of 3.625 / 255 over their range: 70 and -185 levels, which are 0.995 and -2.630.
const WEIGHTS: [f64; 2] = [1.0, -2.625];
const DATA: [f64; 3] = [120.0, 0.0, 48.0];

/// A Conv of one channel between quantizers.
struct Between {
    data: Parameters,
    weights: fn(&mut Sketch) -> String,
    bias: Option<f64>,
    activation: Option<Op>,
    result: Parameters,
}

impl Default for Between {
    fn default() -> Self {
        Self {
            data: per_tensor(DataType::Int8, 1.0, 0.0),
            weights: |sketch| sketch.constant(DataType::Float, &[1, 1, 2], &WEIGHTS),
            bias: None,
            activation: None,
            result: per_tensor(DataType::Int8, 1.0, 0.0),
        }
    }
}

impl Between {
    fn graph(self) -> Graph {
        let mut sketch = Sketch::new();
        let x = sketch.quantized("X", &self.data);
        let w = (self.weights)(&mut sketch);
        let bias = self.bias.map(|bias| sketch.constant(DataType::Float, &[1], &[bias]));
        let inputs: Vec<_> =
            [Some(&x), Some(&w), bias.as_ref()].into_iter().flatten().map(String::as_str).collect();
        let y = sketch.node(Op::Conv(Conv::default()), &inputs);
        let y = match self.activation {
            Some(activation) => sketch.node(activation, &[&y]),
            None => y,
        };
        let y = sketch.quantized(&y, &self.result);
        sketch.finish(&y)
    }

    fn changes_under(self, mutant: Mutant) -> bool {
        let graph = self.graph();
        result(&graph, &[], &[]) != result(&graph, &[], &[mutant])
    }

    fn quantized(self) -> Vec<f64> {
        result(&self.graph(), &[], &[Mutant::FloatWeightsQuantized])
    }
}

/// What the graph gives for the data and further inputs.
fn result(graph: &Graph, further: &[Tensor], mutants: &[Mutant]) -> Vec<f64> {
    let x = Tensor::from_f64(DataType::Float, vec![1, 1, 3], &DATA).expect("three elements");
    let inputs: Vec<_> = std::iter::once(x).chain(further.iter().cloned()).collect();
    evaluate_as(graph, &inputs, Arithmetic::default(), mutants).expect("valid").outputs.remove(0).values
}

#[test]
fn weights_are_quantized_wherever_they_are_computed_beforehand() {
    let stored = Between::default().quantized();
    assert_eq!(stored, [119.0, -126.0]);
    assert_eq!(result(&Between::default().graph(), &[], &[]), [120.0, -126.0]);
    let behind_identity = |sketch: &mut Sketch| {
        let w = sketch.constant(DataType::Float, &[1, 1, 2], &WEIGHTS);
        sketch.node(Op::Identity, &[&w])
    };
    let sum = |sketch: &mut Sketch| {
        let half = sketch.constant(DataType::Float, &[1, 1, 2], &WEIGHTS.map(|w| w / 2.0));
        sketch.node(Op::Add, &[&half, &half])
    };
    assert_eq!(Between { weights: behind_identity, ..Between::default() }.quantized(), stored);
    assert_eq!(Between { weights: sum, ..Between::default() }.quantized(), stored);
}

#[test]
fn weights_are_quantized_if_at_most_activations_precede_the_quantizer() {
    let is_changed = |activation| {
        Between { activation, ..Between::default() }.changes_under(Mutant::FloatWeightsQuantized)
    };
    assert!(is_changed(None) && is_changed(Some(Op::Relu)) && is_changed(Some(Op::Clip)));
    assert!(!is_changed(Some(Op::Identity)));
}

#[test]
fn weights_are_not_quantized_beside_a_computed_bias() {
    let biased = || Between { bias: Some(1.0), ..Between::default() };
    assert!(biased().changes_under(Mutant::FloatWeightsQuantized));
    let mut graph = biased().graph();
    let is_conv = |node: &&Node| matches!(node.op, Op::Conv(_));
    let bias = graph.nodes.iter().find(is_conv).expect("it has a Conv").inputs[2].clone();
    let place = graph.initializers.iter().position(|one| one.name == bias).expect("it is stored");
    let bias = graph.initializers.remove(place);
    graph.inputs.push(ValueInfo { name: bias.name, dtype: DataType::Float, shape: None });
    let fed = [bias.tensor];
    assert_eq!(result(&graph, &fed, &[]), result(&graph, &fed, &[Mutant::FloatWeightsQuantized]));
}

#[test]
fn bias_is_rounded_in_its_type_to_steps_that_32_bits_count() {
    let rounded = |data: f64, weights: f64, bias: f64| {
        let mut sketch = Sketch::new();
        let x = sketch.quantized("X", &per_tensor(DataType::Int8, data, 0.0));
        let w = sketch.constant(DataType::Float, &[1, 1, 1], &[0.0]);
        let w = sketch.quantized(&w, &per_tensor(DataType::Int8, weights, 0.0));
        let b = sketch.constant(DataType::Float, &[1], &[bias]);
        let y = sketch.node(Op::Conv(Conv::default()), &[&x, &w, &b]);
        result(&sketch.finish(&y), &[], &[Mutant::BiasInProductSteps])
    };
    assert_eq!(rounded(0.5, 0.25, 1.2), [1.25; 3]);
    // 2 to the 40th steps of 2 to the -20th
    assert_eq!(rounded(0.000_976_562_5, 0.000_976_562_5, 1_048_576.0), [-2048.0; 3]);
}

#[test]
fn bias_is_not_rounded_to_scales_of_another_axis() {
    let mut sketch = Sketch::new();
    let x = sketch.quantized("X", &per_tensor(DataType::Int8, 1.0, 0.0));
    let w = sketch.constant(DataType::Float, &[2, 1, 3], &[0.0; 6]);
    let along = |axis, scale: &[f64]| per_axis(axis, scale, 0.0);
    let b = sketch.constant(DataType::Float, &[2], &[0.7, 0.7]);
    for (parameters, expected) in
        [(along(0, &[1.0, 0.5]), [1.0, 0.5]), (along(2, &[1.0, 0.5, 2.0]), [0.7, 0.7])]
    {
        let mut sketch = sketch.clone();
        let w = sketch.quantized(&w, &parameters);
        let y = sketch.node(Op::Conv(Conv::default()), &[&x, &w, &b]);
        let found = result(&sketch.finish(&y), &[], &[Mutant::BiasInProductSteps]);
        let is_close = |(found, expected): (&f64, f64)| (found - expected).abs() < 1e-6;
        assert!(found.iter().zip(expected).all(is_close), "{found:?}");
    }
}
