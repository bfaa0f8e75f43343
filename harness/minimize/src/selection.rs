//! Selections of indices that keep the parts of a case together: an axis of a value and of everything that it is computed from.

use std::collections::{HashMap, HashSet};

use twinfer_case::Case;
use twinfer_onnx::{DequantizeLinear, Node, Op, QuantizeLinear, infer_shapes, resolve_axis};

use crate::edit::{Edited, select_input, selected};

/// Keeps these indices, in ascending order, of an axis of the value `name`: in the initializer or input that it is,
/// or in what it is computed from.
pub fn select(case: &mut Case, name: &str, axis: usize, indices: &[usize]) -> Edited {
    let values = Values { ranks: ranks(case), joined: joined_extents(case) };
    Selection { values: &values, done: HashSet::new(), indices }.apply(case, name, axis)
}

/// What is known of the values of a case before an edit.
struct Values {
    /// The number of axes of every value that is known to have some.
    ranks: HashMap<String, usize>,
    /// The extents in the first run of the values that a Concat joins, if the graph is valid.
    joined: HashMap<String, Vec<usize>>,
}

fn joined_extents(case: &Case) -> HashMap<String, Vec<usize>> {
    let joining = case.graph.nodes.iter().filter(|node| matches!(node.op, Op::Concat(_)));
    let mut names = joining.flat_map(|node| &node.inputs).peekable();
    let (Some(_), Some(run)) = (names.peek(), case.runs.first()) else { return HashMap::new() };
    let fed: Vec<_> = run.inputs.iter().map(|source| source.shape().to_vec()).collect();
    let Ok(shapes) = infer_shapes(&case.graph, &fed) else { return HashMap::new() };
    names.filter_map(|name| Some((name.clone(), shapes.get(name)?.shape.clone()))).collect()
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
    values: &'a Values,
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
            Op::Add | Op::Mul => {
                node.inputs.iter().try_for_each(|input| self.apply_to_summand(case, name, input, axis))
            }
            Op::BatchNormalization(_) if axis == 1 => {
                self.apply(case, node.inputs.first()?, 1)?;
                node.inputs[1..].iter().try_for_each(|input| self.apply(case, input, 0))
            }
            Op::BatchNormalization(_)
            | Op::Clip
            | Op::HardSwish
            | Op::Identity
            | Op::LeakyRelu(_)
            | Op::Relu
            | Op::Sigmoid => self.apply(case, node.inputs.first()?, axis),
            Op::Conv(_) | Op::ConvTranspose(_) if axis == 1 => self.apply_to_output_channels(case, &node),
            Op::Conv(_) | Op::ConvTranspose(_) if axis == 0 => self.apply(case, node.inputs.first()?, 0),
            Op::AveragePool(_) | Op::GlobalAveragePool | Op::MaxPool(_) if axis < 2 => {
                self.apply(case, node.inputs.first()?, axis)
            }
            Op::Concat(ref concat) => {
                let along = resolve_axis(concat.axis, *self.values.ranks.get(name)?).ok()?;
                if along == axis {
                    self.apply_to_joined(case, &node, axis)
                } else {
                    node.inputs.iter().try_for_each(|input| self.apply(case, input, axis))
                }
            }
            Op::Transpose(ref transpose) => {
                let axes = transpose.order(*self.values.ranks.get(name)?).ok()?;
                self.apply(case, node.inputs.first()?, *axes.get(axis)?)
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
        let missing = self.values.ranks.get(sum)?.checked_sub(*self.values.ranks.get(input)?)?;
        let Some(own) = axis.checked_sub(missing) else {
            return Some(());
        };
        let broadcasts =
            case.graph.initializer(input).is_some_and(|tensor| tensor.shape.get(own) == Some(&1));
        if broadcasts { Some(()) } else { self.apply(case, input, own) }
    }

    /// Selects along the axis of a Concat in each of its inputs what comes from there, and leaves out the inputs from which nothing
    /// does. The indices have to ascend, since the inputs keep their order.
    fn apply_to_joined(&self, case: &mut Case, node: &Node, axis: usize) -> Edited {
        self.indices.is_sorted_by(|one, next| one < next).then_some(())?;
        let (mut start, mut left) = (0, Vec::new());
        for input in &node.inputs {
            let extent = *self.values.joined.get(input)?.get(axis)?;
            let from_input = self.indices.iter().filter(|index| (start..start + extent).contains(*index));
            let own: Vec<usize> = from_input.map(|index| index - start).collect();
            start += extent;
            if own.is_empty() {
                continue;
            }
            left.push(input.clone());
            if own.len() < extent {
                Selection { values: self.values, done: HashSet::new(), indices: &own }
                    .apply(case, input, axis)?;
            }
        }
        let nodes = &mut case.graph.nodes;
        nodes.iter_mut().find(|other| other.outputs == node.outputs)?.inputs = left;
        Some(())
    }

    /// Selects along an axis of what is quantized or dequantized, and of its scales and zero points where they lie
    /// `along` it.
    fn apply_to_quantized(&mut self, case: &mut Case, node: &Node, along: i64, axis: usize) -> Edited {
        let (x, parameters) = node.inputs.split_first()?;
        self.apply(case, x, axis)?;
        if resolve_axis(along, *self.values.ranks.get(x)?).ok() != Some(axis) {
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

#[cfg(test)]
mod tests {
    use twinfer_onnx::{AveragePool, Concat, LeakyRelu, Transpose};

    use super::*;
    use crate::fixture::{case, node};

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

    /// What is left of the input, 1 and 2, if index 1 of an axis of the output of `op` is kept.
    fn left_of_input(op: Op, axis: usize) -> Option<Vec<f64>> {
        let mut case = case(vec![node(op, ["x", ""], "y")]);
        select(&mut case, "y", axis, &[1])?;
        Some(case.runs[0].inputs[0].tensor().expect("is data").to_f64())
    }

    #[test]
    fn channels_are_selected_through_operators_that_keep_them() {
        for op in [
            Op::AveragePool(AveragePool::default()),
            Op::Clip,
            Op::GlobalAveragePool,
            Op::HardSwish,
            Op::LeakyRelu(LeakyRelu::default()),
            Op::Sigmoid,
        ] {
            let name = op.op_type();
            assert_eq!(left_of_input(op, 1), Some(vec![2.0]), "{name}");
        }
        let transpose = |perm| Op::Transpose(Transpose { perm });
        assert_eq!(left_of_input(transpose(None), 0), Some(vec![2.0]));
        assert_eq!(left_of_input(transpose(Some(vec![0, 1])), 1), Some(vec![2.0]));
    }

    #[test]
    fn indices_of_a_joined_axis_are_those_of_the_input_that_has_them() {
        let joined = Op::Concat(Concat { axis: 1 });
        let mut case = case(vec![node(Op::Relu, ["x", ""], "r"), node(joined, ["r", "x"], "y")]);
        assert_eq!(select(&mut case, "y", 1, &[1]), Some(()));
        assert_eq!(case.graph.nodes[1].inputs, ["r"], "nothing is left of the other input");
        assert_eq!(case.runs[0].inputs[0].tensor().expect("is data").to_f64(), [2.0]);
    }
}
