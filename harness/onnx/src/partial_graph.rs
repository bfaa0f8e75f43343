use std::collections::HashSet;

use crate::{
    DataType, DecodeError, Graph, Initializer, Node, Op, ValueInfo, constant,
    decode::{default_opset, initializer, model, node, value_info},
    proto::{GraphProto, NodeProto},
};

/// A model of any operators, as far as it is known: its nodes, some of which have operators that twinfer knows.
///
/// Nothing is known to be valid, and values whose names are read may be defined nowhere.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialGraph {
    /// The version of the default operator set.
    pub opset: i64,
    /// What the caller feeds, without initializers. An input of a type that twinfer does not know is left out.
    pub inputs: Vec<ValueInfo>,
    /// Constant tensors of types that twinfer knows.
    pub initializers: Vec<Initializer>,
    /// The nodes, in the model's order.
    pub nodes: Vec<PartialNode>,
    /// The names of the values that the caller reads.
    pub outputs: Vec<String>,
}

/// A node, known or not.
#[derive(Clone, Debug, PartialEq)]
pub enum PartialNode {
    /// A node of an operator that twinfer knows.
    Known(Node),
    /// Any other node.
    Unknown {
        /// Its name; may be empty.
        name: String,
        /// ONNX's name for the operator.
        op_type: String,
        /// The names of the values it reads, and of those that graphs inside the node read from outside.
        inputs: Vec<String>,
        /// The names of the values it produces.
        outputs: Vec<String>,
    },
}

impl PartialGraph {
    /// Reads an ONNX model whose operators need not be known.
    ///
    /// Memory is bounded as in [`Graph::decode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (model, _) = model(bytes)?;
        let opset = default_opset(model.opset_import)?;
        let graph = model.graph.ok_or(DecodeError::Missing("graph"))?;
        let (constants, nodes): (Vec<_>, Vec<_>) = graph.node.into_iter().partition(is_readable_constant);
        let stored_names: HashSet<_> =
            graph.initializer.iter().map(|constant| constant.name.clone()).collect();
        let fed = graph.input.into_iter().filter(|input| !stored_names.contains(&input.name));
        let stored = graph.initializer.into_iter().filter_map(|proto| initializer(proto).ok());
        let constants = constants.iter().filter_map(|node| constant::initializer(node).ok());
        Ok(Self {
            opset,
            inputs: fed.filter_map(|input| value_info(input).ok()).collect(),
            initializers: stored.chain(constants).collect(),
            nodes: nodes.into_iter().map(PartialNode::from).collect(),
            outputs: graph.output.into_iter().map(|output| output.name).collect(),
        })
    }

    /// The nodes that are known, with names, for rules about nodes and their neighbors: it may lack what other nodes compute, so it is no valid
    /// graph. What other nodes read counts as an output.
    pub fn known_nodes(&self) -> Graph {
        let named = self.nodes.iter().filter(|node| !node.name().is_empty());
        let known = named.filter_map(|node| match node {
            PartialNode::Known(node) => Some(node.clone()),
            PartialNode::Unknown { .. } => None,
        });
        let others = self.nodes.iter().filter(|node| node.op().is_none() || node.name().is_empty());
        let read = others.flat_map(PartialNode::inputs).map(str::to_owned);
        let output = |name: String| ValueInfo { name, dtype: DataType::Float, shape: None };
        Graph {
            opset: self.opset,
            inputs: self.inputs.clone(),
            initializers: self.initializers.clone(),
            nodes: known.collect(),
            outputs: self.outputs.iter().cloned().chain(read).map(output).collect(),
        }
    }
}

/// Whether a node is a Constant of a type that twinfer knows.
fn is_readable_constant(node: &NodeProto) -> bool {
    constant::is_constant(node) && constant::initializer(node).is_ok()
}

impl From<&Graph> for PartialGraph {
    fn from(graph: &Graph) -> Self {
        Self {
            opset: graph.opset,
            inputs: graph.inputs.clone(),
            initializers: graph.initializers.clone(),
            nodes: graph.nodes.iter().cloned().map(PartialNode::Known).collect(),
            outputs: graph.outputs.iter().map(|output| output.name.clone()).collect(),
        }
    }
}

impl PartialNode {
    /// The operator, if it is known.
    pub const fn op(&self) -> Option<&Op> {
        match self {
            Self::Known(node) => Some(&node.op),
            Self::Unknown { .. } => None,
        }
    }

    /// The node's name; may be empty.
    pub fn name(&self) -> &str {
        match self {
            Self::Known(node) => &node.name,
            Self::Unknown { name, .. } => name,
        }
    }

    /// ONNX's name for the operator.
    pub fn op_type(&self) -> &str {
        match self {
            Self::Known(node) => node.op.op_type(),
            Self::Unknown { op_type, .. } => op_type,
        }
    }

    /// The names of the values it reads, without inputs that are left out.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        let (Self::Known(Node { inputs, .. }) | Self::Unknown { inputs, .. }) = self;
        inputs.iter().map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The names of the values it produces, without outputs that are left out.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        let (Self::Known(Node { outputs, .. }) | Self::Unknown { outputs, .. }) = self;
        outputs.iter().map(String::as_str).filter(|name| !name.is_empty())
    }
}

impl From<NodeProto> for PartialNode {
    fn from(proto: NodeProto) -> Self {
        let NodeProto { name, op_type, output, .. } = &proto;
        let (name, op_type, outputs) = (name.clone(), op_type.clone(), output.clone());
        let inputs = read(&proto);
        node(proto).map_or(Self::Unknown { name, op_type, inputs, outputs }, Self::Known)
    }
}

/// The names of the values that a node reads, in order, with what graphs inside it read from outside.
fn read(node: &NodeProto) -> Vec<String> {
    let graphs = node.attribute.iter().flat_map(|one| one.g.as_deref().into_iter().chain(&one.graphs));
    let mut names = node.input.clone();
    let mut seen: HashSet<_> = names.iter().cloned().collect();
    let captured = graphs.flat_map(captured).filter(|name| seen.insert(name.clone()));
    names.extend(captured);
    names
}

/// The names of the values that a graph inside a node reads from outside.
fn captured(graph: &GraphProto) -> Vec<String> {
    let own = graph.input.iter().map(|input| &input.name);
    let own = own.chain(graph.initializer.iter().map(|initializer| &initializer.name));
    let own: HashSet<_> = own.chain(graph.node.iter().flat_map(|node| &node.output)).collect();
    let outputs = graph.output.iter().map(|output| output.name.clone());
    let all = graph.node.iter().flat_map(read).chain(outputs);
    all.filter(|name| !name.is_empty() && !own.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::{
        DataType,
        proto::{
            AttributeProto, GraphProto, ModelProto, OperatorSetIdProto, TensorTypeProto, TypeProto,
            ValueInfoProto,
        },
    };

    fn node_proto(op_type: &str, input: &str, output: &str) -> NodeProto {
        NodeProto {
            op_type: op_type.to_owned(),
            input: vec![input.to_owned()],
            output: vec![output.to_owned()],
            ..NodeProto::default()
        }
    }

    #[test]
    fn known_nodes_are_decoded_beside_unknown_ones() {
        let tensor_type = TensorTypeProto { elem_type: 1, shape: None };
        let value = |name: &str| ValueInfoProto {
            name: name.to_owned(),
            r#type: Some(TypeProto { tensor_type: Some(tensor_type.clone()) }),
        };
        let model = ModelProto {
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
            graph: Some(GraphProto {
                node: vec![node_proto("Relu", "x", "a"), node_proto("Gelu", "a", "y")],
                input: vec![value("x")],
                output: vec![value("y")],
                ..GraphProto::default()
            }),
            ..ModelProto::default()
        };
        let graph = PartialGraph::decode(&model.encode_to_vec()).expect("a model");
        assert_eq!(graph.inputs[0].dtype, DataType::Float);
        let ops: Vec<_> = graph.nodes.iter().map(|node| (node.op_type(), node.op().is_some())).collect();
        assert_eq!(ops, [("Relu", true), ("Gelu", false)]);
        assert_eq!(graph.nodes[1].inputs().collect::<Vec<_>>(), ["a"]);
        assert_eq!((graph.opset, &graph.outputs[..]), (17, &["y".to_owned()][..]));
    }

    #[test]
    fn node_reads_what_graphs_inside_it_capture() {
        let value = |name: &str| ValueInfoProto { name: name.to_owned(), r#type: None };
        let graph = |node: Vec<NodeProto>, outputs: &[&str]| GraphProto {
            node,
            output: outputs.iter().map(|name| value(name)).collect(),
            ..GraphProto::default()
        };
        let with = |op_type: &str, input: &str, output: &str, graphs: Vec<GraphProto>| NodeProto {
            attribute: vec![AttributeProto { graphs, ..AttributeProto::default() }],
            ..node_proto(op_type, input, output)
        };
        let innermost = graph(vec![node_proto("Relu", "a", "r"), node_proto("Neg", "t", "n")], &["r", "n"]);
        let inner = graph(vec![node_proto("Tanh", "c", "t"), with("If", "t", "i", vec![innermost])], &["i"]);
        let inner = GraphProto { input: vec![value("fed")], ..inner };
        let passed_on = graph(vec![], &["b", "c"]);
        let outer = PartialNode::from(with("If", "c", "y", vec![inner, passed_on]));
        assert_eq!(outer.inputs().collect::<Vec<_>>(), ["c", "a", "b"]);
    }
}
