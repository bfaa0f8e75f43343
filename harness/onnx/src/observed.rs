//! Models that return more of their values.

use prost::Message;

use crate::proto::{GraphProto, ModelProto, ValueInfoProto};

/// The ONNX model `model` with the values called `names` as further outputs, behind its own.
///
/// The model itself is not decoded, so that nothing else about it changes. ONNX is a protocol buffer: the fields of a message that
/// occurs twice are merged, so a second, partial graph behind the first adds its outputs to it. They state no type; a reader that
/// infers types needs none.
pub fn with_outputs(model: &[u8], names: &[String]) -> Vec<u8> {
    let output = names.iter().map(|name| ValueInfoProto { name: name.clone(), r#type: None });
    let graph = GraphProto { output: output.collect(), ..GraphProto::default() };
    let addition = ModelProto { graph: Some(graph), ..ModelProto::default() };
    let mut observed = Vec::with_capacity(model.len() + addition.encoded_len());
    observed.extend_from_slice(model);
    observed.extend(addition.encode_to_vec());
    observed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, Graph, Node, Op, ValueInfo};

    fn relu(input: &str, output: &str) -> Node {
        Node {
            name: output.to_owned(),
            op: Op::Relu,
            inputs: vec![input.to_owned()],
            outputs: vec![output.to_owned()],
        }
    }

    #[test]
    fn outputs_are_added_behind_those_of_the_model() {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        let graph = Graph {
            opset: 20,
            inputs: vec![value("x")],
            initializers: Vec::new(),
            nodes: vec![relu("x", "a"), relu("a", "y")],
            outputs: vec![value("y")],
        };
        let observed = ModelProto::decode(with_outputs(&graph.encode(), &["a".to_owned()]).as_slice());
        let observed = observed.expect("a model");
        let mut expected = ModelProto::decode(graph.encode().as_slice()).expect("a model");
        let added = ValueInfoProto { name: "a".to_owned(), r#type: None };
        expected.graph.as_mut().expect("a graph").output.push(added);
        assert_eq!(observed, expected);
    }
}
