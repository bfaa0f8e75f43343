use twinfer_case::{Case, Request, TensorSource};
use twinfer_onnx::{Graph, Initializer, Node, Op, Tensor};

use super::{candidates::Candidates, nodes::small_integers};
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

/// Each node that computes on initializers alone replaced by an `Identity` of small integers: what matters may be only that something
/// computes a parameter.
pub fn by_identity<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let graph = &case.graph;
    let is_constant = |name: &String| name.is_empty() || graph.initializer(name).is_some();
    let computes = move |node: &Node| {
        !matches!(node.op, Op::Identity | Op::QuantizeLinear(_))
            && node.inputs.iter().all(is_constant)
            && node.inputs.first().is_some_and(|name| graph.readers(name).count() == 1)
    };
    let places = (0..graph.nodes.len()).filter(move |place| computes(&graph.nodes[*place]));
    Box::new(places.filter_map(|place| {
        let mut case = case.clone();
        let node = &mut case.graph.nodes[place];
        let extents = baseline.extents(node.outputs.first()?)?.first()?;
        node.op = Op::Identity;
        node.inputs.truncate(1);
        let read = node.inputs.first()?;
        let initializer = case.graph.initializers.iter_mut().find(|one| one.name == *read)?;
        initializer.tensor = small_integers(case.request.precision, extents)?;
        Some(case)
    }))
}

/// Each input of the graph but the first as an initializer, of what the first run feeds.
pub fn fix_input<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    Box::new((1..case.graph.inputs.len()).filter_map(|place| {
        let mut case = case.clone();
        let name = case.graph.inputs.remove(place).name;
        let fed: Vec<_> = case.runs.iter_mut().map(|run| run.inputs.remove(place)).collect();
        let Some(TensorSource::Data(tensor)) = fed.into_iter().next() else { return None };
        case.graph.initializers.push(Initializer { name, tensor });
        Some(case)
    }))
}

/// The case in which TF32 must not replace FP32.
pub fn forbid_tf32<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let request = Request { tf32: false, ..case.request.clone() };
    let forbidding = case.request.tf32.then(|| Case { request, ..case.clone() });
    Box::new(forbidding.into_iter())
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
        (Op::Constant(value), []) => value.clone(),
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
