use std::collections::BTreeSet;

use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{AutoPad, DataType, DequantizeLinear, Graph, Node, Op, QuantizeLinear, Tensor};

/// Something that a case has or lacks, whatever its convolutions are.
#[derive(Debug)]
pub struct Fact {
    pub name: &'static str,
    pub holds: fn(&Case) -> bool,
}

macro_rules! facts {
    ($($name:literal if $holds:expr;)*) => {
        /// Every fact, in the order of reports.
        pub const FACTS: &[Fact] = &[$(Fact { name: $name, holds: $holds }),*];
    };
}

facts! {
    "bias scale is not the product of the operands' scales" if |case| nodes(case, has_own_bias_scale);
    "activation quantized per channel" if |case| nodes(case, is_per_channel_activation);
    "DequantizeLinear of INT32 sums" if |case| nodes(case, dequantizes_sums);
    "scale computed in the graph" if |case| nodes(case, |graph, node| is_quantizer(node) && is_computed(graph, node.input(1)));
    "zero point computed in the graph" if |case| nodes(case, |graph, node| is_quantizer(node) && is_computed(graph, node.input(2)));
    "QLinearConv" if |case| nodes(case, |_, node| matches!(node.op, Op::QLinearConv(_)));
    "ConvInteger" if |case| nodes(case, |_, node| matches!(node.op, Op::ConvInteger(_)));
    "output_shape with auto_pad VALID" if |case| nodes(case, |_, node| {
        let window = node.op.window();
        window.is_some_and(|window| window.output_shape.is_some() && window.auto_pad == Some(AutoPad::Valid))
    });
    "output_shape of wrong length" if |case| nodes(case, has_output_shape_of_wrong_length);
    "TF32 left at the backend's default" if |case| case.request.tf32;
    "weight is a graph input" if |case| nodes(case, |graph, node| is_fed(graph, weight(node)));
    "bias is a graph input" if |case| nodes(case, |graph, node| is_fed(graph, bias(node)));
    "weights change between inferences" if feeds_other_weights;
    "one weight shared by two nodes" if reads_a_weight_twice;
    "several outputs" if |case| case.graph.outputs.len() > 1;
    "intermediate tensor is also an output" if |case| {
        let mut outputs = case.graph.outputs.iter();
        outputs.any(|output| case.graph.readers(&output.name).next().is_some())
    };
    "512 channels or more" if |case| shapes(case).any(|shape| shape.get(1).is_some_and(|channels| *channels >= 512));
    "4096 spatial positions or more" if |case| {
        shapes(case).any(|shape| shape.len() > 2 && shape[2..].iter().product::<usize>() >= 4096)
    };
    "Clip" if |case| nodes(case, |_, node| matches!(node.op, Op::Clip));
    "lower bound of Clip above the upper one" if |case| nodes(case, has_exchanged_bounds);
    "LeakyRelu" if |case| nodes(case, |_, node| matches!(node.op, Op::LeakyRelu(_)));
    "value times its Sigmoid" if |case| nodes(case, is_swish);
    "HardSwish" if |case| nodes(case, |_, node| matches!(node.op, Op::HardSwish));
    "AveragePool" if |case| nodes(case, |_, node| matches!(node.op, Op::AveragePool(_)));
    "GlobalAveragePool" if |case| nodes(case, |_, node| matches!(node.op, Op::GlobalAveragePool));
    "Transpose" if |case| nodes(case, |_, node| matches!(node.op, Op::Transpose(_)));
    "Constant node" if |case| nodes(case, |_, node| matches!(node.op, Op::Constant(_)));
}

fn has_exchanged_bounds(graph: &Graph, node: &Node) -> bool {
    let bound = |place: usize| graph.initializer(node.input(place)?)?.to_f64().first().copied();
    matches!(node.op, Op::Clip) && bound(1).zip(bound(2)).is_some_and(|(lower, upper)| lower > upper)
}

fn nodes(case: &Case, holds: fn(&Graph, &Node) -> bool) -> bool {
    case.graph.nodes.iter().any(|node| holds(&case.graph, node))
}

fn shapes(case: &Case) -> impl Iterator<Item = &[usize]> {
    case.runs.iter().flat_map(|run| &run.inputs).map(TensorSource::shape)
}

fn weight(node: &Node) -> Option<&str> {
    node.op.is_convolution().then(|| node.input(1))?
}

fn bias(node: &Node) -> Option<&str> {
    node.op.is_convolution().then(|| node.input(2))?
}

const fn is_quantizer(node: &Node) -> bool {
    matches!(node.op, Op::QuantizeLinear(_) | Op::DequantizeLinear(_))
}

fn is_computed(graph: &Graph, name: Option<&str>) -> bool {
    name.is_some_and(|name| graph.initializer(name).is_none() && graph.producer(name).is_some())
}

/// The input or initializer that a value is computed of by operators of one input.
fn source<'a>(graph: &'a Graph, mut name: &'a str) -> &'a str {
    while let Some(input) = graph.producer(name).and_then(|node| node.input(0)) {
        name = input;
    }
    name
}

fn is_swish(graph: &Graph, node: &Node) -> bool {
    let [left, right] = node.inputs.as_slice() else { return false };
    let gates = |gate: &String, value: &String| {
        let sigmoid = graph.producer(gate).filter(|node| matches!(node.op, Op::Sigmoid));
        sigmoid.is_some_and(|node| node.input(0) == Some(value))
    };
    matches!(node.op, Op::Mul) && (gates(left, right) || gates(right, left))
}

fn is_fed(graph: &Graph, parameter: Option<&str>) -> bool {
    parameter.is_some_and(|name| graph.input(source(graph, name)).is_some())
}

/// Whether runs feed different values for an input that is a weight or a bias.
fn feeds_other_weights(case: &Case) -> bool {
    let convolutions = case.graph.nodes.iter();
    let mut fed = convolutions.flat_map(|node| [weight(node), bias(node)]).flatten().filter_map(|name| {
        let name = source(&case.graph, name);
        case.graph.inputs.iter().position(|input| input.name == name)
    });
    fed.any(|place| case.runs.iter().any(|run| run.inputs[place] != case.runs[0].inputs[place]))
}

fn reads_a_weight_twice(case: &Case) -> bool {
    let mut read = BTreeSet::new();
    case.graph.nodes.iter().filter_map(weight).any(|name| !read.insert(name))
}

fn has_own_bias_scale(graph: &Graph, node: &Node) -> bool {
    let scales = |input: usize| {
        let dequantizer = graph.producer(node.input(input)?)?;
        let is_dequantizer = matches!(dequantizer.op, Op::DequantizeLinear(_));
        is_dequantizer.then(|| graph.initializer(dequantizer.input(1)?).map(Tensor::to_f64))?
    };
    let (Some(data), Some(weight), Some(bias)) = (scales(0), scales(1), scales(2)) else { return false };
    // one value in both, or one each per output channel: other forms have no product
    let product = |place: usize| data[0] * weight[place.min(weight.len() - 1)];
    let is_like = weight.len() == 1 || weight.len() == bias.len();
    let is_product = |(place, bias): (usize, &f64)| (bias / product(place) - 1.0).abs() < 1e-2;
    node.op.is_convolution() && data.len() == 1 && is_like && !bias.iter().enumerate().all(is_product)
}

fn is_per_channel_activation(graph: &Graph, node: &Node) -> bool {
    let per_axis =
        matches!(
            node.op,
            Op::QuantizeLinear(QuantizeLinear { .. }) | Op::DequantizeLinear(DequantizeLinear { .. })
        ) && node.input(1).and_then(|scale| graph.initializer(scale)).is_some_and(|scale| scale.len() > 1);
    let is_activation = |name: &str| {
        let source = source(graph, name);
        graph.inputs.first().is_some_and(|input| input.name == source)
    };
    per_axis && node.input(0).is_some_and(is_activation)
}

fn dequantizes_sums(graph: &Graph, node: &Node) -> bool {
    let of_sums = |name: &str| match graph.producer(name).map(|node| &node.op) {
        Some(Op::ConvInteger(_)) => true,
        Some(Op::Add) => graph.producer(name).is_some_and(|sum| {
            sum.inputs
                .iter()
                .any(|input| graph.initializer(input).is_some_and(|one| one.dtype() == DataType::Int32))
        }),
        _ => false,
    };
    matches!(node.op, Op::DequantizeLinear(_)) && node.input(0).is_some_and(of_sums)
}

fn has_output_shape_of_wrong_length(graph: &Graph, node: &Node) -> bool {
    let Op::ConvTranspose(op) = &node.op else { return false };
    let rank = node.input(1).and_then(|name| graph.initializer(name)).map(|weight| weight.shape.len());
    op.output_shape.as_ref().zip(rank).is_some_and(|(shape, rank)| shape.len() + 2 != rank)
}
