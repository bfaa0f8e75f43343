//! Edits of a case that keep its parts together: an axis of a value and of everything that it is computed from.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{DequantizeLinear, Dim, Node, Op, QuantizeLinear, Tensor, resolve_axis};

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
    Selection { ranks: ranks(case), done: HashSet::new(), indices }.apply(case, name, axis)
}

/// The number of axes of every value that is known to have some.
fn ranks(case: &Case) -> HashMap<String, usize> {
    let graph = &case.graph;
    let mut ranks = HashMap::new();
    for initializer in &graph.initializers {
        ranks.insert(initializer.name.clone(), initializer.tensor.shape.len());
    }
    for (input, source) in graph.inputs.iter().zip(case.runs.iter().flat_map(|run| &run.inputs)) {
        ranks.insert(input.name.clone(), source.shape().len());
    }
    for node in &graph.nodes {
        let rank = node.inputs.iter().filter_map(|input| ranks.get(input)).max().copied();
        ranks.extend(node.outputs.iter().cloned().zip(rank));
    }
    ranks
}

/// A selection on its way from a value to all that it is computed from.
struct Selection<'a> {
    ranks: HashMap<String, usize>,
    /// The axes of values that it has come to, so that it comes to none twice.
    done: HashSet<(String, usize)>,
    indices: &'a [usize],
}

impl Selection<'_> {
    fn apply(&mut self, case: &mut Case, name: &str, axis: usize) -> Edited {
        if !self.done.insert((name.to_owned(), axis)) {
            return Some(());
        }
        if let Some(tensor) = case.graph.initializer_mut(name) {
            if tensor.shape.get(axis) != Some(&self.indices.len()) {
                *tensor = selected(tensor, axis, self.indices)?;
            }
            return Some(());
        }
        if let Some(place) = case.graph.inputs.iter().position(|input| input.name == name) {
            return select_input(case, place, axis, |_| Some(self.indices.to_vec()));
        }
        let node = case.graph.producer(name)?.clone();
        match node.op {
            Op::Add => {
                node.inputs.iter().try_for_each(|input| self.apply_to_summand(case, name, input, axis))
            }
            Op::BatchNormalization(_) if axis == 1 => {
                self.apply(case, node.inputs.first()?, 1)?;
                node.inputs[1..].iter().try_for_each(|input| self.apply(case, input, 0))
            }
            Op::BatchNormalization(_) | Op::Relu | Op::Identity => {
                self.apply(case, node.inputs.first()?, axis)
            }
            Op::Conv(_) | Op::ConvTranspose(_) if axis == 1 => self.apply_to_output_channels(case, &node),
            Op::Conv(_) | Op::ConvTranspose(_) if axis == 0 => self.apply(case, node.inputs.first()?, 0),
            Op::MaxPool(_) if axis < 2 => self.apply(case, node.inputs.first()?, axis),
            Op::Concat(ref concat)
                if resolve_axis(concat.axis, *self.ranks.get(name)?).ok() != Some(axis) =>
            {
                node.inputs.iter().try_for_each(|input| self.apply(case, input, axis))
            }
            Op::QuantizeLinear(QuantizeLinear { axis: along })
            | Op::DequantizeLinear(DequantizeLinear { axis: along }) => {
                self.apply_to_quantized(case, &node, along.unwrap_or(1), axis)
            }
            _ => None,
        }
    }

    /// Selects along an axis of a sum in one of its inputs, which may have fewer axes or extent 1 there.
    fn apply_to_summand(&mut self, case: &mut Case, sum: &str, input: &str, axis: usize) -> Edited {
        let missing = self.ranks.get(sum)?.checked_sub(*self.ranks.get(input)?)?;
        let Some(own) = axis.checked_sub(missing) else {
            return Some(());
        };
        let broadcasts =
            case.graph.initializer(input).is_some_and(|tensor| tensor.shape.get(own) == Some(&1));
        if broadcasts { Some(()) } else { self.apply(case, input, own) }
    }

    /// Selects along an axis of what is quantized or dequantized, and of its scales and zero points where they lie
    /// `along` it.
    fn apply_to_quantized(&mut self, case: &mut Case, node: &Node, along: i64, axis: usize) -> Edited {
        let (x, parameters) = node.inputs.split_first()?;
        self.apply(case, x, axis)?;
        if resolve_axis(along, *self.ranks.get(x)?).ok() != Some(axis) {
            return Some(());
        }
        parameters.iter().filter(|name| !name.is_empty()).try_for_each(|parameter| {
            // one value serves every index
            if case.graph.initializer(parameter)?.len() == 1 {
                Some(())
            } else {
                self.apply(case, parameter, 0)
            }
        })
    }

    /// Selects output channels of a convolution without groups.
    fn apply_to_output_channels(&mut self, case: &mut Case, node: &Node) -> Edited {
        let window = node.op.window()?;
        if window.group() != 1 {
            return None;
        }
        self.apply(case, node.inputs.get(1)?, window.output_channel_axis())?;
        node.input(2).map_or(Some(()), |bias| self.apply(case, bias, 0))
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
    use twinfer_case::{Expectation, Request, Run};
    use twinfer_onnx::{DataType, Graph, TensorData, ValueInfo};

    use super::*;

    /// A case of `nodes`, the last of which gives the output, on an input of shape [1, 2].
    fn case(nodes: Vec<Node>) -> Case {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        let x = Tensor::new(vec![1, 2], TensorData::Float(vec![1.0, 2.0])).expect("two elements");
        let output = nodes.last().map_or_else(String::new, |node| node.outputs[0].clone());
        Case {
            graph: Graph {
                opset: 20,
                inputs: vec![value("x")],
                initializers: vec![],
                nodes,
                outputs: vec![value(&output)],
            },
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: vec![TensorSource::Data(x)] }],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    fn node(op: Op, inputs: [&str; 2], output: &str) -> Node {
        let inputs = inputs.into_iter().filter(|input| !input.is_empty()).map(str::to_owned).collect();
        Node { name: output.to_owned(), op, inputs, outputs: vec![output.to_owned()] }
    }

    #[test]
    fn a_value_that_is_added_to_itself_again_and_again_is_cut_once() {
        let names: Vec<_> =
            (0..=60).map(|place| if place == 0 { "x".to_owned() } else { format!("y{place}") }).collect();
        let doubled = |pair: &[String]| node(Op::Add, [&pair[0], &pair[0]], &pair[1]);
        let mut case = case(names.windows(2).map(doubled).collect());
        assert_eq!(select(&mut case, "y60", 1, &[1]), Some(()));
        assert_eq!(case.runs[0].inputs[0].tensor().expect("is data").to_f64(), [2.0]);
    }

    #[test]
    fn a_value_that_is_computed_from_itself_ends_a_selection() {
        let mut case = case(vec![node(Op::Relu, ["loop", ""], "loop")]);
        assert_eq!(select(&mut case, "loop", 1, &[0]), Some(()));
    }

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
