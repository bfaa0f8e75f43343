use std::collections::HashMap;

use crate::{
    DataType, DecodeError,
    decode::model,
    proto::{NodeProto, ValueInfoProto},
};

/// The nodes of any ONNX model, whatever their operators and domains, and the types that it states: what can be told of
/// a graph that a library rewrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// In the model's order, which is topological; nodes inside of nodes are not looked at.
    pub nodes: Vec<OutlineNode>,
    /// The element types of inputs, outputs and initializers, where twinfer knows them.
    pub types: HashMap<String, DataType>,
    /// The names among them that are initializers.
    pub initializers: Vec<String>,
}

/// A node of an [`Outline`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineNode {
    /// Its name, which may be empty.
    pub name: String,
    /// The operator's name.
    pub op_type: String,
    /// The names of the values that it reads; empty where an optional one is left out.
    pub inputs: Vec<String>,
    /// The names of the values that it gives.
    pub outputs: Vec<String>,
    /// What a Cast casts to, where twinfer knows the type.
    pub to: Option<DataType>,
}

impl Outline {
    /// Reads the outline of a model; memory is bounded as in [`Graph::decode`](crate::Graph::decode).
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let graph = model(bytes)?.0.graph.ok_or(DecodeError::Missing("graph"))?;
        let declared = graph.input.into_iter().chain(graph.output).filter_map(typed);
        let mut types: HashMap<_, _> = declared.collect();
        let mut initializers = Vec::new();
        for initializer in graph.initializer {
            if let Some(dtype) = DataType::from_onnx_code(initializer.data_type) {
                types.insert(initializer.name.clone(), dtype);
            }
            initializers.push(initializer.name);
        }
        let nodes = graph.node.into_iter().map(|node| OutlineNode {
            to: cast_to(&node),
            name: node.name,
            op_type: node.op_type,
            inputs: node.input,
            outputs: node.output,
        });
        Ok(Self { nodes: nodes.collect(), types, initializers })
    }
}

fn cast_to(node: &NodeProto) -> Option<DataType> {
    let to = node.attribute.iter().find(|attribute| node.op_type == "Cast" && attribute.name == "to")?;
    DataType::from_onnx_code(to.i?.try_into().ok()?)
}

fn typed(value: ValueInfoProto) -> Option<(String, DataType)> {
    let dtype = DataType::from_onnx_code(value.r#type?.tensor_type?.elem_type)?;
    Some((value.name, dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};

    #[test]
    fn an_outline_has_names_operators_and_stated_types() {
        let value =
            |name: &str, dtype| ValueInfo { name: name.to_owned(), dtype, shape: Some(vec![Dim::Fixed(2)]) };
        let graph = Graph {
            opset: 17,
            inputs: vec![value("x", DataType::Float16)],
            initializers: vec![Initializer {
                name: "b".to_owned(),
                tensor: Tensor { shape: vec![2], data: TensorData::Int8(vec![1, 2]) },
            }],
            nodes: vec![Node {
                name: "sum".to_owned(),
                op: Op::Add,
                inputs: vec!["x".to_owned(), "b".to_owned()],
                outputs: vec!["y".to_owned()],
            }],
            outputs: vec![value("y", DataType::Float)],
        };
        let outline = Outline::decode(&graph.encode()).unwrap();
        let [node] = &outline.nodes[..] else { panic!("one node") };
        assert_eq!((node.name.as_str(), node.op_type.as_str()), ("sum", "Add"));
        assert_eq!(
            (&node.inputs[..], &node.outputs[..]),
            (&graph.nodes[0].inputs[..], &graph.nodes[0].outputs[..])
        );
        let types = ["x", "b", "y"].map(|name| outline.types[name]);
        assert_eq!(types, [DataType::Float16, DataType::Int8, DataType::Float]);
        assert_eq!(outline.initializers, ["b"]);
        assert!(Outline::decode(b"no model").is_err());
    }
}
