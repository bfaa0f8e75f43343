//! Integer convolutions are what the quantized graphs that they abbreviate are.

#[path = "support/sketch.rs"]
mod sketch;

use sketch::{Parameters, Sketch, per_axis, per_tensor};
use twinfer_golden::{Mutant, Reference, evaluate, evaluate_with};
use twinfer_onnx::{Conv, DataType, DequantizeLinear, Graph, Op, QuantizeLinear, Tensor};

const X_SCALE: f64 = 0.0625;
const Y_SCALE: f64 = 0.75;
const W_SCALES: [f64; 4] = [0.5, 0.25, 2.0, 1.0];

fn grouped() -> Conv {
    Conv { group: Some(2), pads: Some(vec![1, 0]), strides: Some(vec![2]), ..Conv::default() }
}

fn input() -> Tensor {
    let values: Vec<f64> = (0..20).map(|place| f64::from(place * 13 % 29 - 11) * 0.25).collect();
    Tensor::from_f64(DataType::Float, vec![1, 4, 5], &values).expect("as many values as it holds")
}

/// Weight and bias: four output channels of two inputs and three taps in two groups.
fn constants(sketch: &mut Sketch) -> [String; 2] {
    let weights: Vec<f64> = (0..24).map(|place| f64::from(place * 37 % 251 - 120)).collect();
    let bias = sketch.constant(DataType::Int32, &[4], &[30.0, -200.0, 7.0, 55.0]);
    [sketch.constant(DataType::Int8, &[4, 2, 3], &weights), bias]
}

fn with_q_linear_conv() -> Graph {
    let mut sketch = Sketch::new();
    let [w, b] = constants(&mut sketch);
    let mut scalar = |dtype, value| sketch.constant(dtype, &[], &[value]);
    let (x_scale, x_zero) = (scalar(DataType::Float, X_SCALE), scalar(DataType::Uint8, 120.0));
    let (y_scale, y_zero) = (scalar(DataType::Float, Y_SCALE), scalar(DataType::Int8, -3.0));
    let w_scale = sketch.constant(DataType::Float, &[4], &W_SCALES);
    let w_zero = sketch.constant(DataType::Int8, &[4], &[2.0; 4]);
    let x = sketch.node(Op::QuantizeLinear(QuantizeLinear::default()), &["X", &x_scale, &x_zero]);
    let inputs = [&x, &x_scale, &x_zero, &w, &w_scale, &w_zero, &y_scale, &y_zero, &b].map(String::as_str);
    let y = sketch.node(Op::QLinearConv(grouped()), &inputs);
    let y = sketch.node(Op::DequantizeLinear(DequantizeLinear::default()), &[&y, &y_scale, &y_zero]);
    sketch.finish(&y)
}

fn with_dequantized_operands() -> Graph {
    let mut sketch = Sketch::new();
    let [w, b] = constants(&mut sketch);
    let x = sketch.quantized("X", &per_tensor(DataType::Uint8, X_SCALE, 120.0));
    let w = sketch.dequantized(&w, &per_axis(0, &W_SCALES, 2.0));
    let scale = W_SCALES.map(|scale| scale * X_SCALE).to_vec();
    let of_bias = Parameters { dtype: DataType::Int32, axis: Some(0), scale, zero_point: 0.0 };
    let b = sketch.dequantized(&b, &of_bias);
    let y = sketch.node(Op::Conv(grouped()), &[&x, &w, &b]);
    let y = sketch.quantized(&y, &per_tensor(DataType::Int8, Y_SCALE, -3.0));
    sketch.finish(&y)
}

fn output(graph: &Graph) -> Reference {
    evaluate(graph, &[input()]).expect("valid").outputs.remove(0)
}

#[test]
fn a_q_linear_conv_is_the_graph_that_it_abbreviates() {
    let (short, long) = (output(&with_q_linear_conv()), output(&with_dequantized_operands()));
    assert_eq!((&short.shape, &short.values), (&long.shape, &long.values));
    let least = short.values.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(short.values.iter().any(|value| value - least > 10.0), "{:?}", short.values);
}

#[test]
fn a_conv_integer_sums_what_is_left_without_zero_points() {
    let mut sketch = Sketch::new();
    let [w, _] = constants(&mut sketch);
    let (scale, x_zero) =
        (sketch.constant(DataType::Float, &[], &[X_SCALE]), sketch.constant(DataType::Uint8, &[], &[120.0]));
    let w_zero = sketch.constant(DataType::Int8, &[4], &[2.0; 4]);
    let x = sketch.node(Op::QuantizeLinear(QuantizeLinear::default()), &["X", &scale, &x_zero]);
    let sums = sketch.node(Op::ConvInteger(grouped()), &[&x, &w, &x_zero, &w_zero]);
    let one = sketch.constant(DataType::Float, &[], &[1.0]);
    let y = sketch.node(Op::DequantizeLinear(DequantizeLinear::default()), &[&sums, &one]);
    let integers = output(&sketch.finish(&y));

    let mut sketch = Sketch::new();
    let [w, _] = constants(&mut sketch);
    let x = sketch.quantized("X", &per_tensor(DataType::Uint8, X_SCALE, 120.0));
    let w = sketch.dequantized(&w, &per_axis(0, &[1.0; 4], 2.0));
    let y = sketch.node(Op::Conv(grouped()), &[&x, &w]);
    let floats = output(&sketch.finish(&y));
    let scaled: Vec<f64> = floats.values.iter().map(|value| value / X_SCALE).collect();
    assert_eq!(integers.values, scaled);
}

#[test]
fn a_mutant_of_convolutions_is_one_of_integer_convolutions_too() {
    let graph = with_q_linear_conv();
    for mutant in [Mutant::PadShifted, Mutant::KernelReversed, Mutant::GroupsInterleaved, Mutant::PadsSwapped]
    {
        let mutantive = evaluate_with(&graph, &[input()], Some(mutant)).expect("valid").outputs.remove(0);
        assert_ne!(mutantive.values, output(&graph).values, "{}", mutant.name());
    }
}

#[test]
fn quantized_nan_leaves_open_only_the_sums_that_it_is_part_of() {
    let mut sketch = Sketch::new();
    let weights = sketch.constant(DataType::Int8, &[2, 2, 1], &[1.0, 0.0, 0.0, -1.0]);
    let zero_point = sketch.constant(DataType::Int8, &[], &[0.0]);
    let scale = sketch.constant(DataType::Float, &[], &[1.0]);
    let x = sketch.node(Op::QuantizeLinear(QuantizeLinear::default()), &["X", &scale, &zero_point]);
    let sums = sketch.node(Op::ConvInteger(Conv::default()), &[&x, &weights, &zero_point, &zero_point]);
    let y = sketch.node(Op::DequantizeLinear(DequantizeLinear::default()), &[&sums, &scale]);
    let input = Tensor::from_f64(DataType::Float, vec![1, 2, 1], &[3.0, f64::NAN]).expect("two values");
    let output = evaluate(&sketch.finish(&y), &[input]).expect("valid").outputs.remove(0);
    assert_eq!((output.values[0], output.bound[1]), (3.0, f64::INFINITY));
    assert!(output.bound[0] < 1e-6, "{}", output.bound[0]);
}
