use std::collections::{HashMap, HashSet};

use crate::{
    Tensor, constant,
    proto::{FunctionProto, GraphProto, NodeProto, TensorProto, is_default},
    tensor_proto::tensor,
};

/// The most elements of a constant that a [`Dataflow`] keeps: scales and flags, not weights.
const MAX_CONSTANT: usize = 4096;

/// From which nodes each value of an ONNX model comes, whatever their operators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataflow {
    /// The version of the default operator set; 0 if the model imports none.
    opset: i64,
    nodes: Vec<FlowNode>,
    /// The place in `nodes` of the node that gives each value.
    producers: HashMap<String, usize>,
    constants: HashMap<String, Tensor>,
    /// The nodes of the model's own functions, by the operator that calls them.
    functions: HashMap<String, Vec<FlowNode>>,
}

/// A node of a [`Dataflow`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowNode {
    /// The operator; preceded by its domain and a colon if the domain is not the default one.
    pub op_type: String,
    /// The names of the values that it reads; empty where an optional one is left out.
    pub inputs: Vec<String>,
    /// The attributes that are one float.
    pub floats: HashMap<String, f32>,
    /// The attributes that are one integer.
    pub ints: HashMap<String, i64>,
    /// The nodes of the graphs among its attributes.
    pub inner: Vec<Self>,
}

impl Dataflow {
    /// The dataflow of nodes, each with the names of the values that it gives, and of constants.
    pub fn of_nodes(
        opset: i64,
        nodes: impl IntoIterator<Item = (FlowNode, Vec<String>)>,
        constants: HashMap<String, Tensor>,
    ) -> Self {
        let mut flow = Self { opset, constants, ..Self::default() };
        for (place, (node, outputs)) in nodes.into_iter().enumerate() {
            flow.nodes.push(node);
            flow.producers.extend(outputs.into_iter().map(|output| (output, place)));
        }
        flow
    }

    pub(crate) fn of_graph(opset: i64, graph: &GraphProto, functions: &[FunctionProto]) -> Self {
        let mut constants = HashMap::new();
        for node in graph.node.iter().filter(|node| constant::is_constant(node)) {
            let small = constant::initializer(node).ok().filter(|one| one.tensor.len() <= MAX_CONSTANT);
            constants.extend(small.map(|one| (one.name, one.tensor)));
        }
        for initializer in graph.initializer.iter().filter(|initializer| is_small(initializer)) {
            let value = tensor(initializer.clone()).ok();
            constants.extend(value.map(|value| (initializer.name.clone(), value)));
        }
        let function = |one: &FunctionProto| {
            (operator(&one.domain, &one.name), one.node.iter().map(flow_node).collect())
        };
        let nodes = graph.node.iter().map(|node| (flow_node(node), node.output.clone()));
        Self {
            functions: functions.iter().map(function).collect(),
            ..Self::of_nodes(opset, nodes, constants)
        }
    }

    /// The version of the default operator set; 0 if the model imports none.
    pub const fn opset(&self) -> i64 {
        self.opset
    }

    /// The node that gives a value; `None` for inputs and initializers.
    pub fn producer(&self, value: &str) -> Option<&FlowNode> {
        self.nodes.get(*self.producers.get(value)?)
    }

    /// The elements of an initializer or Constant; `None` if `value` is another one, or has many elements.
    pub fn constant(&self, value: &str) -> Option<&Tensor> {
        self.constants.get(value)
    }

    /// A node for which `holds`, among those that `value` depends on; graphs within nodes and functions are looked into.
    pub fn find_behind(&self, value: &str, holds: impl Fn(&FlowNode) -> bool) -> Option<&FlowNode> {
        let mut seen = HashSet::new();
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            let Some(&place) = self.producers.get(value) else { continue };
            if !seen.insert(place) {
                continue;
            }
            let inside = self.with_inner(&self.nodes[place]);
            if let Some(found) = inside.iter().find(|node| holds(node)) {
                return Some(found);
            }
            values.extend(inside.iter().flat_map(|node| &node.inputs).map(String::as_str));
        }
        None
    }

    /// A node with all nodes that it consists of.
    fn with_inner<'a>(&'a self, node: &'a FlowNode) -> Vec<&'a FlowNode> {
        let mut called = HashSet::new();
        let mut all = vec![node];
        let mut next = 0;
        while let Some(&node) = all.get(next) {
            all.extend(&node.inner);
            if let Some((operator, body)) = self.functions.get_key_value(&node.op_type)
                && called.insert(operator)
            {
                all.extend(body);
            }
            next += 1;
        }
        all
    }
}

impl FlowNode {
    /// An attribute that is one float; `default` if it is left out.
    pub fn float(&self, attribute: &str, default: f32) -> f64 {
        f64::from(self.floats.get(attribute).copied().unwrap_or(default))
    }
}

fn flow_node(node: &NodeProto) -> FlowNode {
    let attributes = || node.attribute.iter();
    let graphs = attributes().flat_map(|one| one.g.as_deref().into_iter().chain(&one.graphs));
    FlowNode {
        op_type: operator(&node.domain, &node.op_type),
        inputs: node.input.clone(),
        floats: attributes().filter_map(|one| Some((one.name.clone(), one.f?))).collect(),
        ints: attributes().filter_map(|one| Some((one.name.clone(), one.i?))).collect(),
        inner: graphs.flat_map(|graph| &graph.node).map(flow_node).collect(),
    }
}

fn operator(domain: &str, op_type: &str) -> String {
    if is_default(domain) { op_type.to_owned() } else { format!("{domain}:{op_type}") }
}

fn is_small(initializer: &TensorProto) -> bool {
    let extents = initializer.dims.iter().map(|extent| usize::try_from(*extent).unwrap_or(usize::MAX));
    extents.fold(1, usize::saturating_mul) <= MAX_CONSTANT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{AttributeProto, attribute_type};

    fn node(op_type: &str, inputs: &[&str], output: &str) -> NodeProto {
        NodeProto {
            op_type: op_type.to_owned(),
            input: inputs.iter().map(|&name| name.to_owned()).collect(),
            output: vec![output.to_owned()],
            ..Default::default()
        }
    }

    fn has(flow: &Dataflow, value: &str, op_type: &str) -> bool {
        flow.find_behind(value, |node| node.op_type == op_type).is_some()
    }

    #[test]
    fn nodes_behind_a_value_include_inner_graphs_and_functions() {
        let inner = GraphProto { node: vec![node("Bernoulli", &["a"], "b")], ..Default::default() };
        let branch = AttributeProto { g: Some(Box::new(inner)), ..Default::default() };
        let call = NodeProto { domain: "own".to_owned(), ..node("Noise", &["x"], "n") };
        let body = NodeProto { domain: "own".to_owned(), ..node("Noise", &["x"], "y") };
        let function = FunctionProto {
            name: "Noise".to_owned(),
            domain: "own".to_owned(),
            node: vec![node("RandomNormal", &[], "z"), body],
        };
        let graph = GraphProto {
            node: vec![
                node("Relu", &["x"], "a"),
                NodeProto { attribute: vec![branch], ..node("If", &["c"], "i") },
                call,
                node("Tanh", &["i"], "y"),
            ],
            ..Default::default()
        };
        let flow = Dataflow::of_graph(17, &graph, &[function]);
        assert!(has(&flow, "y", "Bernoulli") && has(&flow, "n", "RandomNormal"));
        assert!(has(&flow, "y", "Relu"), "what an inner graph captures counts");
        assert!(!has(&flow, "a", "Bernoulli") && !has(&flow, "y", "RandomNormal"));
    }

    #[test]
    fn small_constants_are_kept_and_large_ones_are_not() {
        let scalar =
            TensorProto { name: "s".to_owned(), data_type: 1, float_data: vec![0.5], ..Default::default() };
        let large = TensorProto { name: "w".to_owned(), dims: vec![1 << 40], ..scalar.clone() };
        let value = AttributeProto {
            name: "value_float".to_owned(),
            f: Some(2.0),
            r#type: attribute_type::FLOAT,
            ..Default::default()
        };
        let graph = GraphProto {
            node: vec![NodeProto { attribute: vec![value], ..node("Constant", &[], "c") }],
            initializer: vec![scalar, large],
            ..Default::default()
        };
        let flow = Dataflow::of_graph(17, &graph, &[]);
        let element = |name: &str| flow.constant(name).map(|tensor| tensor.to_f64()[0]);
        assert_eq!([element("s"), element("c"), element("w")], [Some(0.5), Some(2.0), None]);
    }
}
