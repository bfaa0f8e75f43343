//! Edits of the tensors and inputs of a case, and the indices that they keep.

use std::ops::Range;

use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{Dim, Tensor};

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

/// Removes what no output needs; `None` where that is everything.
pub fn prune(case: &mut Case) -> Edited {
    let graph = &mut case.graph;
    let needed = graph.prune();
    let used: Vec<_> = graph.inputs.iter().map(|input| needed.contains(&input.name)).collect();
    let mut place = used.iter();
    graph.inputs.retain(|_| *place.next().unwrap_or(&true));
    for run in &mut case.runs {
        let mut place = used.iter();
        run.inputs.retain(|_| *place.next().unwrap_or(&true));
    }
    (!graph.nodes.is_empty()).then_some(())
}

/// Smaller counts to try in place of `count`, the smallest first. The multiples of 4 and 8 keep what a backend does with vectors.
pub fn smaller(count: usize) -> impl Iterator<Item = usize> {
    let mut counts = vec![1, 2, 4, 8, count / 2, count.saturating_sub(1)];
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter().filter(move |smaller| *smaller >= 1 && *smaller < count)
}

/// Ranges of indices to keep of `extent`, the smallest first: the first ones, as many as [`smaller`] gives, and the last half of
/// them, which may alone hold what a case needs.
pub fn parts(extent: usize) -> impl Iterator<Item = Range<usize>> {
    let firsts = smaller(extent).map(|kept| 0..kept);
    let mut parts: Vec<_> = firsts.chain((extent > 1).then_some(extent / 2..extent)).collect();
    // the first ones come before the last ones of as many
    parts.sort_by_key(|part| (part.len(), part.start));
    parts.into_iter()
}

/// The indices of `part` that an axis of this extent has; `None` if it has none of them.
pub fn within(part: &Range<usize>, extent: usize) -> Option<Vec<usize>> {
    (part.start < extent).then(|| (part.start..part.end.min(extent)).collect())
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::Op;

    use super::*;
    use crate::fixture::{case, node};

    #[test]
    fn parts_are_the_first_indices_and_the_last_half() {
        assert_eq!(parts(7).collect::<Vec<_>>(), [0..1, 0..2, 0..3, 0..4, 3..7, 0..6]);
        assert_eq!(parts(2).collect::<Vec<_>>(), [0..1, 1..2]);
        assert_eq!(parts(1).count(), 0);
    }

    #[test]
    fn what_no_output_needs_is_removed() {
        let mut case = case(vec![node(Op::Relu, ["x", ""], "unused"), node(Op::Relu, ["x", ""], "y")]);
        prune(&mut case).expect("a node is left");
        assert_eq!(case.graph.nodes.len(), 1);
        case.graph.outputs[0].name = "nothing".to_owned();
        assert_eq!(prune(&mut case), None);
    }
}
