use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{Graph, Node, Op, Tensor};

/// Whether every scale of a quantizer that the case states is positive and finite, in each of its runs.
pub fn are_positive(case: &Case) -> bool {
    let names: Vec<_> = case.graph.nodes.iter().flat_map(scales).collect();
    let is_scale = |name: &str| names.contains(&name);
    let constants = case.graph.initializers.iter().filter(|one| is_scale(&one.name)).map(|one| &one.tensor);
    constants
        .chain(fed(case, &is_scale))
        .all(|scales| scales.to_f64().into_iter().all(|scale| scale > 0.0 && scale.is_finite()))
}

/// The names of the scales that a node reads.
fn scales(node: &Node) -> impl Iterator<Item = &str> {
    let places: &[usize] = match node.op {
        Op::QuantizeLinear(_) | Op::DequantizeLinear(_) => &[1],
        Op::QLinearConv(_) => &[1, 4, 6],
        _ => &[],
    };
    places.iter().filter_map(|place| node.input(*place))
}

/// The inputs of all runs whose names satisfy `is_wanted`, as far as the case holds their values.
fn fed<'a>(case: &'a Case, is_wanted: &'a impl Fn(&str) -> bool) -> impl Iterator<Item = &'a Tensor> {
    let Graph { inputs, .. } = &case.graph;
    case.runs.iter().flat_map(|run| inputs.iter().zip(&run.inputs)).filter_map(|(input, source)| match source
    {
        TensorSource::Data(tensor) if is_wanted(&input.name) => Some(tensor),
        TensorSource::Data(_) | TensorSource::Recipe(_) => None,
    })
}
