//! What an output of a model that golden does not support comes from, as far as that decides how it is compared.

use twinfer_golden::Entry;
use twinfer_onnx::{Dataflow, FlowNode};

use crate::{randomness, saturation::Saturation};

/// How an output of a model that golden does not support comes about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum OutputSource {
    /// Computed by any operators.
    #[default]
    Computed,
    /// Moved from inputs and constants without computing anything.
    Moved,
    /// The values of a function that saturates.
    Saturated(Saturation),
    /// Dequantized integers, with the largest scale.
    Dequantized(f64),
    /// Dependent on random numbers, by this rule.
    Random(&'static Entry),
    /// Dependent on a value that is known to be wrong: not even its shape should be the same.
    Wrong,
}

/// The most values that are looked at for one output: a model may name itself as its own input.
const MAX_VALUES: usize = 1000;

impl OutputSource {
    /// The source of the output `name`.
    pub fn of(flow: &Dataflow, name: &str) -> Self {
        match randomness::entry(flow, name) {
            Some(entry) => Self::Random(entry),
            None => trace(flow, name, &mut MAX_VALUES.clone()),
        }
    }

    /// Whether two variants should agree on the values of the output.
    pub const fn is_comparable(&self) -> bool {
        !matches!(self, Self::Random(_) | Self::Wrong)
    }

    /// The source of a tensor that consists of parts of both sources.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Moved, Self::Moved) => Self::Moved,
            (Self::Saturated(one), Self::Saturated(other)) => Self::Saturated(one.or(other)),
            (Self::Dequantized(one), Self::Dequantized(other)) => Self::Dequantized(one.max(other)),
            _ => Self::Computed,
        }
    }
}

fn trace(flow: &Dataflow, value: &str, left: &mut usize) -> OutputSource {
    let Some(rest) = left.checked_sub(1) else { return OutputSource::Computed };
    *left = rest;
    let Some(node) = flow.producer(value) else { return OutputSource::Moved };
    if let Some(saturation) = Saturation::of(node) {
        return OutputSource::Saturated(saturation);
    }
    match node.op_type.as_str() {
        "DequantizeLinear" => scale(flow, node).map_or(OutputSource::Computed, OutputSource::Dequantized),
        "Concat" => {
            let mut parts = node.inputs.iter().map(|part| trace(flow, part, left));
            let first = parts.next().unwrap_or_default();
            parts.fold(first, OutputSource::or)
        }
        "Constant" => OutputSource::Moved,
        _ => match (is_move(node), node.inputs.first()) {
            (true, Some(moved)) => moved_by(flow, node, trace(flow, moved, left)),
            (false, Some(data)) if does_not_widen(node) => match trace(flow, data, left) {
                OutputSource::Moved => OutputSource::Computed,
                source => source,
            },
            _ => OutputSource::Computed,
        },
    }
}

/// The source of what `node` moves, which is not exact where a computed index or shape says what is moved.
fn moved_by(flow: &Dataflow, node: &FlowNode, source: OutputSource) -> OutputSource {
    let mut parameters = node.inputs.iter().skip(1).filter(|name| !name.is_empty());
    let is_fixed = parameters.all(|name| flow.producer(name).is_none() || flow.constant(name).is_some());
    match source {
        OutputSource::Moved if !is_fixed => OutputSource::Computed,
        source => source,
    }
}

/// The largest scale of a DequantizeLinear; `None` if it is not a constant.
fn scale(flow: &Dataflow, node: &FlowNode) -> Option<f64> {
    let scales = flow.constant(node.inputs.get(1)?)?.to_f64();
    scales.iter().copied().map(f64::abs).reduce(f64::max).filter(|scale| scale.is_finite())
}

/// Whether every element of the node's output is an element of its first input.
fn is_move(node: &FlowNode) -> bool {
    matches!(
        node.op_type.as_str(),
        "DepthToSpace"
            | "Expand"
            | "Flatten"
            | "Gather"
            | "GatherElements"
            | "GatherND"
            | "Identity"
            | "Reshape"
            | "Slice"
            | "SpaceToDepth"
            | "Split"
            | "Squeeze"
            | "Tile"
            | "Transpose"
            | "Unsqueeze"
    )
}

/// Whether the node's output changes by no more than its first input does, in the maximum norm.
fn does_not_widen(node: &FlowNode) -> bool {
    matches!(
        node.op_type.as_str(),
        "Abs"
            | "AveragePool"
            | "Clip"
            | "GlobalAveragePool"
            | "GlobalMaxPool"
            | "MaxPool"
            | "Neg"
            | "ReduceMax"
            | "ReduceMean"
            | "ReduceMin"
            | "Relu"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use twinfer_golden::RANDOM_VALUES;
    use twinfer_onnx::{Tensor, TensorData};

    use super::*;

    /// The source of the last node's output; a node is its operator, its inputs and its output.
    fn source(nodes: &[(&str, &[&str], &str)]) -> OutputSource {
        let last = nodes.last().expect("a node").2;
        let nodes = nodes.iter().map(|(op_type, inputs, output)| {
            let inputs = inputs.iter().map(|&name| name.to_owned()).collect();
            let node = FlowNode { op_type: (*op_type).to_owned(), inputs, ..FlowNode::default() };
            (node, vec![(*output).to_owned()])
        });
        let scales = Tensor { shape: vec![2], data: TensorData::Float(vec![0.25, -0.5]) };
        let flow = Dataflow::of_nodes(17, nodes, HashMap::from([("scales".to_owned(), scales)]));
        OutputSource::of(&flow, last)
    }

    #[test]
    fn sources_are_found_behind_moves_and_concatenation() {
        let moved = [("Reshape", &["x", "shape"][..], "a"), ("Concat", &["a", "x"], "y")];
        assert_eq!(source(&moved), OutputSource::Moved);
        let sigmoid = [("Sigmoid", &["x"][..], "a"), ("Transpose", &["a"], "b"), ("Clip", &["b"], "y")];
        assert!(matches!(source(&sigmoid), OutputSource::Saturated(_)));
        let mixed = [("Sigmoid", &["x"][..], "a"), ("Gemm", &["x", "w"], "b"), ("Concat", &["a", "b"], "y")];
        assert_eq!(source(&mixed), OutputSource::Computed);
        let dequantized = [("DequantizeLinear", &["q", "scales"][..], "a"), ("Relu", &["a"], "y")];
        assert_eq!(source(&dequantized), OutputSource::Dequantized(0.5));
        let unknown_scale = [("DequantizeLinear", &["q", "s"][..], "y")];
        assert_eq!(source(&unknown_scale), OutputSource::Computed);
        let random = [("RandomUniform", &[][..], "a"), ("Sigmoid", &["a"], "y")];
        assert_eq!(source(&random), OutputSource::Random(&RANDOM_VALUES));
    }

    #[test]
    fn computed_values_and_indices_are_not_moved() {
        assert_eq!(source(&[("Relu", &["x"], "y")]), OutputSource::Computed);
        let indexed = [("ArgMax", &["x"][..], "i"), ("Gather", &["x", "i"], "y")];
        assert_eq!(source(&indexed), OutputSource::Computed);
    }

    #[test]
    fn values_that_name_themselves_end_the_search() {
        assert_eq!(source(&[("Concat", &["y", "y"], "y")]), OutputSource::Computed);
    }
}
