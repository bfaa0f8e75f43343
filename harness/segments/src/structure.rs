use std::collections::{BTreeSet, HashMap, HashSet};

use twinfer_case::{Culprit, NamedNode, Shown};
use twinfer_onnx::{Initializer, Node, Op, PartialGraph, PartialNode};

use crate::segment::Segment;

/// A model's graph with its values looked up by name, and the choice of those that are worth observing.
pub struct Structure<'g> {
    graph: &'g PartialGraph,
    producers: HashMap<&'g str, usize>,
    readers: HashMap<&'g str, Vec<usize>>,
    initializers: HashMap<&'g str, &'g Initializer>,
    /// Values that known nodes compute from initializers alone.
    folded: HashSet<&'g str>,
    outputs: HashSet<&'g str>,
}

/// Why no segment leads to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop<'g> {
    /// Golden does not know the operator of this node, and its output was not observed.
    Unknown(&'g str),
    /// The backend did not return this value.
    NotObserved(&'g str),
}

impl<'g> Structure<'g> {
    pub fn of(graph: &'g PartialGraph) -> Self {
        let mut structure = Self {
            graph,
            producers: HashMap::new(),
            readers: HashMap::new(),
            initializers: graph.initializers.iter().map(|one| (one.name.as_str(), one)).collect(),
            folded: HashSet::new(),
            outputs: graph.outputs.iter().map(String::as_str).collect(),
        };
        for (index, node) in graph.nodes.iter().enumerate() {
            structure.enter(index, node);
        }
        structure
    }

    fn enter(&mut self, index: usize, node: &'g PartialNode) {
        let is_folded = node.op().is_some() && node.inputs().all(|name| self.is_constant(name));
        for output in node.outputs() {
            self.producers.entry(output).or_insert(index);
            if is_folded {
                self.folded.insert(output);
            }
        }
        for input in node.inputs() {
            let readers = self.readers.entry(input).or_default();
            if readers.last() != Some(&index) {
                readers.push(index);
            }
        }
    }

    pub const fn graph(&self) -> &'g PartialGraph {
        self.graph
    }

    /// All nodes that do not compute constants, as the culprit of what only the outputs of the whole model show.
    pub fn whole(&self) -> Culprit {
        let named = |(index, node): (usize, &PartialNode)| {
            let output = node.outputs().next().unwrap_or_default();
            (!self.is_folded(index)).then(|| NamedNode::new(node.name(), node.op_type(), output))
        };
        Culprit {
            nodes: self.graph.nodes.iter().enumerate().filter_map(named).collect(),
            inputs: self.graph.inputs.iter().map(|input| input.name.clone()).collect(),
            output: self.graph.outputs.first().cloned().unwrap_or_default(),
            shown: Shown::Whole,
            difference: None,
            behind: Vec::new(),
        }
    }

    /// Whether node `index` computes nothing but constants.
    pub fn is_folded(&self, index: usize) -> bool {
        self.graph.nodes[index].outputs().all(|output| self.folded.contains(output))
    }

    /// Whether the value `name` does not depend on what the model is fed.
    pub fn is_constant(&self, name: &str) -> bool {
        self.folded.contains(name) || self.initializers.contains_key(name)
    }

    /// The values between segments, in the graph's order: every value that known nodes compute or read, except for graph inputs and
    /// outputs, constants, and values inside of what backends fuse. So observing these leaves a quantized kernel quantized.
    pub fn boundaries(&self) -> Vec<&'g str> {
        let values = self.graph.nodes.iter().flat_map(|node| node.outputs().map(move |name| (node, name)));
        let is_boundary = |(node, name): &(&PartialNode, &'g str)| {
            !self.outputs.contains(name) && !self.folded.contains(name) && self.is_between(node, name)
        };
        values.filter(is_boundary).map(|(_, name)| name).collect()
    }

    /// Whether the value `name`, which `producer` computes, lies between segments.
    fn is_between(&self, producer: &PartialNode, name: &str) -> bool {
        let readers: Vec<&PartialNode> = self.readers_of(name).collect();
        match producer.op() {
            _ if producer.op_type() == "Constant" => false,
            None => readers.iter().any(|reader| reader.op().is_some()),
            Some(op) => match readers.as_slice() {
                [] => false,
                readers if matches!(op, Op::DequantizeLinear(_)) => {
                    readers.iter().any(|reader| reader.op().is_none())
                }
                [reader] => !reader.op().is_some_and(|reader| is_fused(op, reader)),
                _ => true,
            },
        }
    }

    fn readers_of(&self, name: &str) -> impl Iterator<Item = &'g PartialNode> {
        let readers = self.readers.get(name).map_or(&[][..], Vec::as_slice);
        readers.iter().map(|&index| &self.graph.nodes[index])
    }

    /// The nodes on which an output depends.
    pub fn live_nodes(&self) -> HashSet<usize> {
        let mut live = HashSet::new();
        let mut open: Vec<&str> = self.graph.outputs.iter().map(String::as_str).collect();
        while let Some(name) = open.pop() {
            if let Some(&index) = self.producers.get(name)
                && live.insert(index)
            {
                open.extend(self.graph.nodes[index].inputs());
            }
        }
        live
    }

    /// The graph's outputs that nodes compute.
    pub fn computed_outputs(&self) -> impl Iterator<Item = &'g str> {
        let outputs = self.graph.outputs.iter().map(String::as_str);
        outputs.filter(|output| self.producers.contains_key(output))
    }

    /// The place of the node that computes `name`, for sorting.
    pub fn place(&self, name: &str) -> usize {
        self.producers.get(name).copied().unwrap_or(usize::MAX)
    }

    /// The nodes that compute `output` from values in `known` and constants.
    pub fn segment(&self, output: &'g str, known: &HashSet<&str>) -> Result<Segment<'g>, Stop<'g>> {
        let (mut nodes, mut inputs, mut constants) = (BTreeSet::new(), Vec::new(), Vec::new());
        let (mut open, mut seen) = (vec![output], HashSet::from([output]));
        while let Some(name) = open.pop() {
            if name != output && known.contains(name) {
                inputs.push(name);
            } else if let Some(constant) = self.initializers.get(name) {
                constants.push(*constant);
            } else {
                let &index = self.producers.get(name).ok_or(Stop::NotObserved(name))?;
                let node = &self.graph.nodes[index];
                if node.op().is_none() {
                    return Err(Stop::Unknown(node.op_type()));
                }
                nodes.insert(index);
                // reversed, so that the inputs come in the order in which the nodes read them
                let read: Vec<_> = node.inputs().filter(|input| seen.insert(input)).collect();
                open.extend(read.into_iter().rev());
            }
        }
        let known_node = |&index: &usize| match &self.graph.nodes[index] {
            PartialNode::Known(node) => Some((index, node)),
            PartialNode::Unknown { .. } => None,
        };
        let nodes: Vec<(usize, &Node)> = nodes.iter().filter_map(known_node).collect();
        let computed = inputs.iter().map(|input| self.producers.contains_key(input)).collect();
        Ok(Segment { opset: self.graph.opset, nodes, inputs, computed, constants, output })
    }
}

/// Whether backends fuse `reader` with `op`, whose only reader it is.
const fn is_fused(op: &Op, reader: &Op) -> bool {
    let is_convolution = matches!(op, Op::Conv(_) | Op::ConvTranspose(_));
    let is_normalized = is_convolution || matches!(op, Op::BatchNormalization(_));
    match reader {
        Op::BatchNormalization(_) => is_convolution,
        Op::Add => is_normalized,
        Op::Relu => is_normalized || matches!(op, Op::Add),
        Op::QuantizeLinear(_) => {
            !matches!(op, Op::QuantizeLinear(_) | Op::QLinearConv(_) | Op::ConvInteger(_))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{
        Conv, DataType, DequantizeLinear, Graph, Node, QuantizeLinear, Tensor, TensorData, ValueInfo,
    };

    use super::*;

    /// A graph whose nodes form a chain, each named like its output; the last value is the output.
    fn chain(ops: Vec<(&str, Op)>) -> PartialGraph {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        let scale = Tensor { shape: vec![], data: TensorData::Float(vec![1.0]) };
        let (mut last, mut nodes) = ("x".to_owned(), Vec::new());
        for (name, op) in ops {
            let others: &[&str] = if matches!(op, Op::Relu) { &[] } else { &["constant"] };
            let inputs = std::iter::once(last).chain(others.iter().map(|&other| other.to_owned())).collect();
            nodes.push(Node { name: name.to_owned(), op, inputs, outputs: vec![name.to_owned()] });
            last = name.to_owned();
        }
        let graph = Graph {
            opset: 17,
            inputs: vec![value("x")],
            initializers: vec![Initializer { name: "constant".to_owned(), tensor: scale }],
            nodes,
            outputs: vec![value(&last)],
        };
        PartialGraph::from(&graph)
    }

    fn conv() -> Op {
        Op::Conv(Conv::default())
    }

    #[test]
    fn values_inside_quantizers_and_activations_are_not_observed() {
        let quantize = || Op::QuantizeLinear(QuantizeLinear::default());
        let dequantize = || Op::DequantizeLinear(DequantizeLinear::default());
        let quantized = chain(vec![
            ("q0", quantize()),
            ("d0", dequantize()),
            ("c0", conv()),
            ("r0", Op::Relu),
            ("q1", quantize()),
            ("d1", dequantize()),
            ("c1", conv()),
        ]);
        assert_eq!(Structure::of(&quantized).boundaries(), ["q0", "q1"]);
        let floats = chain(vec![("c0", conv()), ("r0", Op::Relu), ("c1", conv()), ("r1", Op::Relu)]);
        assert_eq!(Structure::of(&floats).boundaries(), ["r0"]);
    }

    #[test]
    fn node_on_which_no_output_depends_is_not_live() {
        let mut graph = chain(vec![("c0", conv()), ("r0", Op::Relu), ("c1", conv())]);
        graph.outputs = vec!["r0".to_owned()];
        assert_eq!(Structure::of(&graph).live_nodes(), HashSet::from([0, 1]));
    }

    #[test]
    fn segment_reaches_back_to_known_values() {
        let graph = chain(vec![("c0", conv()), ("r0", Op::Relu), ("c1", conv()), ("r1", Op::Relu)]);
        let structure = Structure::of(&graph);
        let segment = structure.segment("r1", &HashSet::from(["x", "r0"])).expect("all nodes are known");
        let names: Vec<_> = segment.nodes.iter().map(|(_, node)| node.name.as_str()).collect();
        assert_eq!((names.as_slice(), segment.inputs.as_slice()), (&["c1", "r1"][..], &["r0"][..]));
        assert_eq!(structure.segment("r1", &HashSet::new()).err(), Some(Stop::NotObserved("x")));
    }
}
