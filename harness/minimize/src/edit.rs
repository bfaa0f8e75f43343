//! Edits of a case that keep its parts together: an axis of a value and of everything that it is computed from.

use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{Dim, Node, Op, Tensor};

/// Marks an edit that this crate cannot make.
pub type Edited = Option<()>;

/// The elements of `tensor` at these indices of an axis.
pub fn selected(tensor: &Tensor, axis: usize, indices: &[usize]) -> Option<Tensor> {
    let extent = *tensor.shape.get(axis)?;
    if indices.iter().any(|index| *index >= extent) {
        return None;
    }
    let inner: usize = tensor.shape[axis + 1..].iter().product();
    let outer: usize = tensor.shape[..axis].iter().product();
    let values = tensor.to_f64();
    let mut kept = Vec::with_capacity(outer * indices.len() * inner);
    for block in 0..outer {
        for index in indices {
            let start = (block * extent + index) * inner;
            kept.extend_from_slice(&values[start..start + inner]);
        }
    }
    let mut shape = tensor.shape.clone();
    shape[axis] = indices.len();
    Tensor::from_f64(tensor.dtype(), shape, &kept).ok()
}

/// Keeps these indices, in ascending order, of an axis of the value `name`: in the initializer or input that it is,
/// or in what it is computed from.
pub fn select(case: &mut Case, name: &str, axis: usize, indices: &[usize]) -> Edited {
    if let Some(found) = case.graph.initializers.iter_mut().find(|initializer| initializer.name == name) {
        if found.tensor.shape.get(axis) != Some(&indices.len()) {
            found.tensor = selected(&found.tensor, axis, indices)?;
        }
        return Some(());
    }
    if let Some(place) = case.graph.inputs.iter().position(|input| input.name == name) {
        return select_input(case, place, axis, |_| Some(indices.to_vec()));
    }
    let node = producer(case, name)?.clone();
    match node.op {
        Op::Add => node.inputs.iter().try_for_each(|input| select_summand(case, &node, input, axis, indices)),
        Op::BatchNormalization(_) if axis == 1 => {
            select(case, node.inputs.first()?, 1, indices)?;
            node.inputs[1..].iter().try_for_each(|input| select(case, input, 0, indices))
        }
        Op::BatchNormalization(_) | Op::Relu | Op::Identity => {
            select(case, node.inputs.first()?, axis, indices)
        }
        Op::Conv(_) | Op::ConvTranspose(_) if axis == 1 => select_output_channels(case, &node, indices),
        _ => None,
    }
}

/// Selects along an axis of a sum in one of its inputs, which may have fewer axes or extent 1 there.
fn select_summand(case: &mut Case, sum: &Node, input: &str, axis: usize, indices: &[usize]) -> Edited {
    let rank = sum.inputs.iter().filter_map(|name| rank_of(case, name)).max()?;
    let missing = rank.checked_sub(rank_of(case, input)?)?;
    let Some(own) = axis.checked_sub(missing) else {
        return Some(());
    };
    let broadcast = case
        .graph
        .initializers
        .iter()
        .any(|initializer| initializer.name == input && initializer.tensor.shape.get(own) == Some(&1));
    if broadcast { Some(()) } else { select(case, input, own, indices) }
}

/// The axes of an initializer, of an input, or of what a node makes of them.
fn rank_of(case: &Case, name: &str) -> Option<usize> {
    if let Some(found) = case.graph.initializers.iter().find(|initializer| initializer.name == name) {
        return Some(found.tensor.shape.len());
    }
    if let Some(place) = case.graph.inputs.iter().position(|input| input.name == name) {
        return Some(case.runs.first()?.inputs.get(place)?.shape().len());
    }
    let node = producer(case, name)?;
    node.inputs.iter().filter_map(|input| rank_of(case, input)).max()
}

/// Keeps these output channels of a convolution without groups.
fn select_output_channels(case: &mut Case, node: &Node, indices: &[usize]) -> Edited {
    let (axis, group) = match &node.op {
        Op::Conv(conv) => (0, conv.group),
        Op::ConvTranspose(deconv) => (1, deconv.group),
        _ => return None,
    };
    if group.unwrap_or(1) != 1 {
        return None;
    }
    select(case, node.inputs.get(1)?, axis, indices)?;
    match node.inputs.get(2) {
        Some(bias) if !bias.is_empty() => select(case, bias, 0, indices),
        _ => Some(()),
    }
}

/// Keeps, in each run, the indices that `indices` gives for its extent along an axis of an input.
pub fn select_input(
    case: &mut Case,
    place: usize,
    axis: usize,
    indices: impl Fn(usize) -> Option<Vec<usize>>,
) -> Edited {
    for run in &mut case.runs {
        let source = run.inputs.get_mut(place)?;
        let kept = indices(*source.shape().get(axis)?)?;
        let tensor = selected(&*source.tensor().ok()?, axis, &kept)?;
        *source = TensorSource::Data(tensor);
    }
    let extent = case.runs.first()?.inputs.get(place)?.shape()[axis];
    if let Some(dim @ Dim::Fixed(_)) =
        case.graph.inputs[place].shape.as_mut().and_then(|dims| dims.get_mut(axis))
    {
        *dim = Dim::Fixed(extent);
    }
    Some(())
}

/// The node that computes `name`.
pub fn producer<'a>(case: &'a Case, name: &str) -> Option<&'a Node> {
    case.graph.nodes.iter().find(|node| node.outputs.iter().any(|output| output == name))
}

/// Removes what no output needs; `None` where that is everything.
pub fn prune(case: &mut Case) -> Edited {
    let graph = &mut case.graph;
    let mut needed: Vec<String> = graph.outputs.iter().map(|output| output.name.clone()).collect();
    let mut kept = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if node.outputs.iter().any(|output| needed.contains(output)) {
            needed.extend(node.inputs.iter().cloned());
            kept.push(node);
        }
    }
    kept.reverse();
    graph.nodes = kept;
    graph.initializers.retain(|initializer| needed.contains(&initializer.name));
    let used: Vec<_> = graph.inputs.iter().map(|input| needed.contains(&input.name)).collect();
    let mut place = used.iter();
    graph.inputs.retain(|_| *place.next().unwrap_or(&true));
    for run in &mut case.runs {
        let mut place = used.iter();
        run.inputs.retain(|_| *place.next().unwrap_or(&true));
    }
    (!graph.nodes.is_empty()).then_some(())
}

/// Smaller counts to try in place of `count`, the smallest first.
pub fn smaller(count: usize) -> impl Iterator<Item = usize> {
    let mut counts = vec![1, 2, count / 2, count.saturating_sub(1)];
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter().filter(move |smaller| *smaller >= 1 && *smaller < count)
}
