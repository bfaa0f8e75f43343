//! Breaches of the rules of QuantizeLinear and DequantizeLinear: in the quantizers of a convolution's weights, which have
//! scales and zero points along an axis.

use twinfer_case::Case;
use twinfer_onnx::{DataType, Graph, Initializer, MAX_OPSET, Node, Op, Tensor};

use super::edit;
use crate::{Choices, Dialect, Grouping, Menu, Quantization, Scaling, Source, Space};

/// Weights are integers in an initializer.
pub fn stored(space: &mut Space) {
    quantized(space);
    space.weights = Menu::only(Source::Dequantized);
}

/// Weights are numbers through QuantizeLinear, then DequantizeLinear.
pub fn rounded(space: &mut Space) {
    quantized(space);
    space.weights = Menu::only(Source::Quantized);
}

/// As `stored`, with one scale, in an operator set that knows no axis.
pub fn before_axes(space: &mut Space) {
    stored(space);
    space.precision = Menu::only(DataType::Float);
    space.opset = Menu::new((11..=12).map(|opset| (opset, 1)));
}

/// Weights of several channels on either side, each with a scale.
pub fn quantized(space: &mut Space) {
    let mut quantization = Quantization::new();
    quantization.dialect = Menu::only(Dialect::Explicit);
    quantization.scaling = Menu::new([(Scaling::Outputs, 1), (Scaling::Inputs, 1)]);
    space.quantization = Some(quantization);
    space.weights = Menu::new([(Source::Dequantized, 1), (Source::Quantized, 1)]);
    space.opset = Menu::new((13..=MAX_OPSET).map(|opset| (opset, 1)));
    space.grouping = Menu::only(Grouping::One);
    space.channels = Menu::new([(2, 1), (3, 1), (5, 1)]);
}

/// The quantizers of the target's weights, in order: the last one is its DequantizeLinear.
fn quantizers(graph: &Graph) -> Vec<usize> {
    let producer = |name: &String| graph.nodes.iter().position(|node| node.outputs.contains(name));
    let weights = &graph.nodes[edit::target(graph)].inputs[1];
    let last = producer(weights).expect("the weights are dequantized");
    producer(&graph.nodes[last].inputs[0]).into_iter().chain([last]).collect()
}

fn dequantizer(case: &mut Case) -> &mut Node {
    let last = *quantizers(&case.graph).last().expect("the weights are dequantized");
    &mut case.graph.nodes[last]
}

/// The constant that is this input of the DequantizeLinear.
fn parameter(case: &mut Case, input: usize) -> &mut Tensor {
    let name = dequantizer(case).inputs[input].clone();
    case.graph.initializer_mut(&name).expect("quantizers have constant parameters")
}

fn with_axis(node: &mut Node, to: Option<i64>) {
    if let Op::QuantizeLinear(twinfer_onnx::QuantizeLinear { axis })
    | Op::DequantizeLinear(twinfer_onnx::DequantizeLinear { axis }) = &mut node.op
    {
        *axis = to;
    }
}

pub fn axis_beyond_the_rank(case: &mut Case, choices: &mut Choices) {
    let rank = edit::kernel(&case.graph, quantizers(&case.graph)[0], 0).len() as i64 + 2;
    let axis = *choices.one_of(&[rank, -rank - 1]);
    for place in quantizers(&case.graph) {
        with_axis(&mut case.graph.nodes[place], Some(axis));
    }
}

pub fn axis_before_there_was_one(case: &mut Case, _: &mut Choices) {
    with_axis(dequantizer(case), Some(0));
}

/// One scale and one zero point more than there are places along the axis.
pub fn a_scale_too_many(case: &mut Case, _: &mut Choices) {
    for input in 1..3 {
        lengthen(parameter(case, input));
    }
}

/// Scales and zero points as a matrix.
pub fn matrix_of_scales(case: &mut Case, _: &mut Choices) {
    for input in 1..3 {
        parameter(case, input).shape.push(1);
    }
}

pub fn a_zero_point_too_many(case: &mut Case, _: &mut Choices) {
    lengthen(parameter(case, 2));
}

fn lengthen(tensor: &mut Tensor) {
    let mut values = tensor.to_f64();
    values.extend(values.first().copied());
    *tensor = edit::made(tensor.dtype(), vec![values.len()], &values);
}

/// The DequantizeLinear alone has a zero point of another type than the integers.
pub fn zero_point_of_another_type(case: &mut Case, _: &mut Choices) {
    let tensor = edit::converted(parameter(case, 2), DataType::Uint8);
    let name = format!("Z{}", case.graph.initializers.len());
    dequantizer(case).inputs[2].clone_from(&name);
    case.graph.initializers.push(Initializer { name, tensor });
}

/// A DequantizeLinear of what are numbers already.
pub fn dequantized_numbers(case: &mut Case, _: &mut Choices) {
    let precision = case.request.precision;
    for input in [0, 2] {
        let parameter = parameter(case, input);
        *parameter = edit::converted(parameter, precision);
    }
}

/// A QuantizeLinear to 32 bits.
pub fn quantized_to_32_bits(case: &mut Case, _: &mut Choices) {
    let parameter = parameter(case, 2);
    *parameter = edit::converted(parameter, DataType::Int32);
}

pub fn without_scale(case: &mut Case, _: &mut Choices) {
    dequantizer(case).inputs.truncate(1);
}
