use std::iter::{self, successors};

use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{DataType, Dim, Op, Tensor, ValueInfo};

use super::candidates::Candidates;
use crate::fit::Baseline;

/// Each convolution alone, and failing that each other node that computes on data.
pub fn keep_one<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let (convolutions, others): (Vec<_>, Vec<_>) =
        (0..case.graph.nodes.len()).partition(|place| case.graph.nodes[*place].op.is_convolution());
    let order = convolutions.into_iter().chain(others);
    Box::new(order.filter_map(|place| end_at(&start_at(case, baseline, place, 0)?, place)))
}

/// The case ending at an earlier node, the earliest first, or starting at a later one, the latest first: at what that node reads as its
/// data, or at one of the values that it combines.
pub fn drop_ends<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let count = case.graph.nodes.len();
    let ends = (0..count.saturating_sub(1)).filter_map(|place| end_at(case, place));
    let starts = (1..count).rev().flat_map(|place| read(case, place).map(move |input| (place, input)));
    let starts = starts.filter_map(|(place, input)| start_at(case, baseline, place, input));
    Box::new(ends.chain(starts))
}

/// The case without one node whose output has the shape of one of its inputs, which takes its place; before that, without
/// a `DequantizeLinear` and the `QuantizeLinear` in front of it.
pub fn bypass<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let pairs = case.graph.nodes.iter().filter_map(|node| {
        let quantizer = case.graph.producer(node.inputs.first()?)?;
        let is_pair = matches!((&quantizer.op, &node.op), (Op::QuantizeLinear(_), Op::DequantizeLinear(_)));
        is_pair.then(|| Some(without(case, &node.name, node.outputs.first()?, quantizer.inputs.first()?)))?
    });
    let nodes = case.graph.nodes.iter();
    let inputs = nodes.flat_map(|node| node.inputs.iter().map(move |input| (node, input)));
    Box::new(pairs.chain(inputs.filter_map(|(node, input)| {
        let output = node.outputs.first()?;
        let alike = baseline.extents(input)? == baseline.extents(output)?;
        alike.then(|| without(case, &node.name, output, input))
    })))
}

/// Each output alone, then all but one.
pub fn fewer_outputs<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let count = case.graph.outputs.len();
    let places = if count < 2 { 0..0 } else { 0..count };
    let alone = places.clone().map(|place| vec![case.graph.outputs[place].clone()]);
    let all_but = places.rev().map(|place| {
        let mut outputs = case.graph.outputs.clone();
        outputs.remove(place);
        outputs
    });
    Box::new(alone.chain(all_but).map(|outputs| {
        let mut case = case.clone();
        case.graph.outputs = outputs;
        case
    }))
}

/// The case whose output is that of the node at `place`.
fn end_at(case: &Case, place: usize) -> Option<Case> {
    let mut case = case.clone();
    let output = case.graph.outputs.first_mut()?;
    output.name.clone_from(case.graph.nodes.get(place)?.outputs.first()?);
    case.graph.outputs.truncate(1);
    Some(case)
}

/// The inputs of the node at `place` that are data: the first one and, of a node that combines several, the others that are computed.
fn read(case: &Case, place: usize) -> impl Iterator<Item = usize> {
    let node = &case.graph.nodes[place];
    let combines = matches!(node.op, Op::Add | Op::Concat(_));
    let others = if combines { 1..node.inputs.len() } else { 0..0 };
    iter::once(0).chain(others.filter(|input| case.graph.producer(&node.inputs[*input]).is_some()))
}

/// The case in which an input of the node at `place` is fed instead of computed, with small integers.
fn start_at(case: &Case, baseline: &Baseline, place: usize, input: usize) -> Option<Case> {
    let name = case.graph.nodes.get(place)?.inputs.get(input)?.clone();
    let mut case = case.clone();
    if case.graph.input(&name).is_some() {
        return Some(case);
    }
    let shapes = baseline.extents(&name)?;
    let like = case.graph.inputs.first()?;
    let dtype = fed_type(&case, like.dtype, &name);
    let dims = like.shape.clone();
    case.graph.nodes.retain(|node| !node.outputs.contains(&name));
    let shape =
        dims.filter(|dims| dims.len() == shapes[0].len()).map(|dims| declared(&name, dims, &shapes[0]));
    // the first input is the data, which stays an input
    case.graph.inputs.insert(0, ValueInfo { name, dtype, shape });
    for (run, shape) in case.runs.iter_mut().zip(shapes) {
        run.inputs.insert(0, TensorSource::Data(small_integers(dtype, shape)?));
    }
    Some(case)
}

/// The type of a new input in place of the value `name`: that of the first input, unless it is integers that a quantizer
/// gave and the value is not.
fn fed_type(case: &Case, first: DataType, name: &str) -> DataType {
    let is_quantized = case.graph.producer(name).is_some_and(|node| matches!(node.op, Op::QuantizeLinear(_)));
    match first {
        DataType::Int8 | DataType::Uint8 if !is_quantized => case.request.precision,
        first => first,
    }
}

/// Dims for a new input: dynamic where those of the graph's first input are, under names of their own.
fn declared(name: &str, like: Vec<Dim>, extents: &[usize]) -> Vec<Dim> {
    let dim = |(axis, (dim, extent)): (usize, (Dim, &usize))| match dim {
        Dim::Symbolic(batch) if axis == 0 => Dim::Symbolic(batch),
        Dim::Symbolic(_) => Dim::Symbolic(format!("{name}_D{axis}")),
        Dim::Fixed(_) => Dim::Fixed(*extent),
    };
    like.into_iter().zip(extents).enumerate().map(dim).collect()
}

/// 1, 2, 3 and so on up to 7, and again.
pub fn small_integers(dtype: DataType, shape: &[usize]) -> Option<Tensor> {
    let integers = successors(Some(1.0), |value| Some(value % 7.0 + 1.0));
    let values: Vec<f64> = integers.take(shape.iter().product()).collect();
    Tensor::from_f64(dtype, shape.to_vec(), &values).ok()
}

fn without(case: &Case, node: &str, output: &str, input: &str) -> Case {
    let mut case = case.clone();
    case.graph.nodes.retain(|other| other.name != node);
    let readers = case.graph.nodes.iter_mut().flat_map(|node| &mut node.inputs);
    let outputs = case.graph.outputs.iter_mut().map(|output| &mut output.name);
    for name in readers.chain(outputs).filter(|name| *name == output) {
        input.clone_into(name);
    }
    case
}
