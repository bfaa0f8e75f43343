use twinfer_case::Case;
use twinfer_onnx::{DataType, Graph, Node, Op, Tensor};

use super::{dequantized::IntegerConv, edit::add_initializer};
use crate::Choices;

/// Replaces a Conv of dequantized operands and the `QuantizeLinear` behind it by a `QLinearConv`.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let graph = &case.graph;
    if case.request.precision != DataType::Float {
        return None;
    }
    let convolutions = IntegerConv::all(graph).into_iter().filter_map(|conv| {
        let quantizer = only_quantizer(graph, conv.node)?;
        Some((conv, quantizer))
    });
    let convolutions: Vec<_> = convolutions.collect();
    let (conv, quantizer) = choices.some_of(&convolutions)?;
    let Op::Conv(op) = conv.node.op.clone() else { return None };
    let parameters = |scale: &Tensor, zero_point: Option<&str>, dtype: DataType| {
        let zero_point = zero_point.and_then(|name| graph.initializer(name)).cloned();
        let zeros = vec![0.0; scale.len()];
        let zero_point = zero_point.or_else(|| Tensor::from_f64(dtype, scale.shape.clone(), &zeros).ok())?;
        Some((scale.clone(), zero_point))
    };
    let y_scale = graph.initializer(quantizer.input(1)?)?;
    let of_x = parameters(conv.x.scale, conv.x.zero_point, integers_of(case, conv.x.integers)?)?;
    let of_w = parameters(conv.w.scale, conv.w.zero_point, integers_of(case, conv.w.integers)?)?;
    let of_y = parameters(y_scale, quantizer.input(2), DataType::Uint8)?;
    let bias = conv.bias(graph).cloned();
    let (x, w) = (conv.x.integers.to_owned(), conv.w.integers.to_owned());
    let (name, outputs, quantizer) =
        (conv.node.name.clone(), quantizer.outputs.clone(), quantizer.name.clone());
    let place = conv.place;
    let mut inputs = Vec::new();
    for (operand, letter, (scale, zero_point)) in
        [(Some(x), "x", of_x), (Some(w), "w", of_w), (None, "y", of_y)]
    {
        inputs.extend(operand);
        inputs.push(add_initializer(case, format!("{name}_{letter}_scale"), scale));
        inputs.push(add_initializer(case, format!("{name}_{letter}_zero_point"), zero_point));
    }
    if let Some(bias) = bias {
        inputs.push(add_initializer(case, format!("{name}_bias"), bias));
    }
    case.graph.nodes[place] = Node { name, op: Op::QLinearConv(op), inputs, outputs };
    case.graph.nodes.retain(|node| node.name != quantizer);
    case.graph.prune();
    Some(())
}

/// The `QuantizeLinear` with one scale that alone reads the output of `node`.
fn only_quantizer<'g>(graph: &'g Graph, node: &Node) -> Option<&'g Node> {
    let output = node.outputs.first()?;
    let mut readers = graph.readers(output);
    let quantizer = readers.next().filter(|_| readers.next().is_none())?;
    let is_given = graph.outputs.iter().any(|given| given.name == *output);
    let is_constant =
        |input: usize| quantizer.input(input).is_none_or(|name| graph.initializer(name).is_some());
    let has_one_scale = graph.initializer(quantizer.input(1)?)?.len() == 1;
    let suits = matches!(quantizer.op, Op::QuantizeLinear(_)) && !is_given && has_one_scale && is_constant(2);
    suits.then_some(quantizer)
}

/// The type of integers without a zero point: of an input or initializer its own, of a `QuantizeLinear` UINT8.
fn integers_of(case: &Case, name: &str) -> Option<DataType> {
    let graph = &case.graph;
    let stored = graph.initializer(name).map(Tensor::dtype);
    let fed = graph.input(name).map(|input| input.dtype);
    let zero_point = || graph.initializer(graph.producer(name)?.input(2)?).map(Tensor::dtype);
    stored.or(fed).or_else(zero_point).or(Some(DataType::Uint8))
}
