use twinfer_case::Case;
use twinfer_onnx::{DataType, DequantizeLinear, Node, Op, Tensor};

use super::{dequantized::IntegerConv, edit::add_initializer};
use crate::Choices;

/// Replaces a Conv of dequantized operands by a `ConvInteger`, an Add of the integer bias, and a `DequantizeLinear` of the sums.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let graph = &case.graph;
    if case.request.precision != DataType::Float {
        return None;
    }
    let convolutions = IntegerConv::all(graph);
    let conv = choices.some_of(&convolutions)?;
    let (place, output) = (conv.place, conv.node.outputs.first()?.clone());
    let Op::Conv(op) = conv.node.op.clone() else { return None };
    let rank = graph.initializer(conv.w.integers)?.shape.len();
    let x_scale = conv.x.scale.to_f64()[0];
    let scales: Vec<_> = conv.w.scale.to_f64().iter().map(|w_scale| x_scale * w_scale).collect();
    let scale = Tensor::from_f64(DataType::Float, conv.w.scale.shape.clone(), &scales).ok()?;
    let bias = conv.bias(graph).map(|bias| {
        let shape = bias.shape.iter().copied().chain(std::iter::repeat_n(1, rank - 2)).collect();
        Tensor { shape, data: bias.data.clone() }
    });
    let axis = (scales.len() > 1).then_some(1);
    let zero_points = [&conv.x, &conv.w].map(|operand| operand.zero_point.unwrap_or_default().to_owned());
    let mut inputs = vec![conv.x.integers.to_owned(), conv.w.integers.to_owned()];
    inputs.extend(zero_points);
    while inputs.last().is_some_and(String::is_empty) {
        inputs.pop();
    }
    let node = |op: Op, inputs: Vec<String>, name: String| Node {
        name: format!("{name}_node"),
        op,
        inputs,
        outputs: vec![name],
    };
    let mut sums = format!("{output}_sums");
    let mut nodes = vec![node(Op::ConvInteger(op), inputs, sums.clone())];
    if let Some(bias) = bias {
        let bias = add_initializer(case, format!("{output}_bias"), bias);
        let biased = format!("{output}_biased");
        nodes.push(node(Op::Add, vec![sums, bias], biased.clone()));
        sums = biased;
    }
    let scale = add_initializer(case, format!("{output}_scale"), scale);
    nodes.push(node(Op::DequantizeLinear(DequantizeLinear { axis }), vec![sums, scale], output));
    case.graph.nodes.splice(place..=place, nodes);
    case.graph.prune();
    Some(())
}
