use twinfer_case::Case;
use twinfer_onnx::{Graph, Initializer, Node, Op, Tensor};

use super::candidates::Candidates;
use crate::fit::Baseline;

/// Each convolution without its bias, or without the empty name that stands for one.
pub fn drop_bias<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let biased = |node: &Node| node.op.is_convolution() && node.inputs.len() == 3;
    let places = (0..case.graph.nodes.len()).filter(move |place| biased(&case.graph.nodes[*place]));
    Box::new(places.map(|place| {
        let mut case = case.clone();
        case.graph.nodes[place].inputs.truncate(2);
        case
    }))
}

/// All nodes that compute on initializers alone replaced by what they compute, then each alone.
pub fn fold<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let computed: Vec<_> = case.graph.nodes.iter().filter_map(|node| folded(&case.graph, node)).collect();
    let all =
        (!computed.is_empty()).then(|| computed.iter().fold(case.clone(), |case, found| with(&case, found)));
    Box::new(all.into_iter().chain(computed.into_iter().map(|found| with(case, &found))))
}

fn with(case: &Case, initializer: &Initializer) -> Case {
    let mut case = case.clone();
    case.graph.nodes.retain(|node| !node.outputs.contains(&initializer.name));
    case.graph.initializers.push(initializer.clone());
    case
}

fn folded(graph: &Graph, node: &Node) -> Option<Initializer> {
    let inputs = node.inputs.iter().map(|name| graph.initializer(name)).collect::<Option<Vec<_>>>()?;
    let tensor = match (&node.op, inputs.as_slice()) {
        (Op::Identity, [only]) => (*only).clone(),
        (Op::Add, [left, right]) => sum(left, right)?,
        _ => return None,
    };
    Some(Initializer { name: node.outputs.first()?.clone(), tensor })
}

fn sum(left: &Tensor, right: &Tensor) -> Option<Tensor> {
    let alike = left.shape == right.shape && left.dtype() == right.dtype();
    let values: Vec<_> = left.to_f64().iter().zip(right.to_f64()).map(|(left, right)| left + right).collect();
    alike.then(|| Tensor::from_f64(left.dtype(), left.shape.clone(), &values).ok())?
}
