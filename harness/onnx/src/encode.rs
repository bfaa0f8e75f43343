use prost::Message;

use crate::{
    Dim, Graph, Initializer, Node, ValueInfo, attributes,
    proto::{
        DimensionProto, Extent, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
        TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    },
    tensor_proto,
};

impl Graph {
    /// The ONNX model of this graph; equal graphs give equal bytes.
    pub fn encode(&self) -> Vec<u8> {
        let model = ModelProto {
            ir_version: ir_version(self.opset),
            producer_name: "twinfer".to_owned(),
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: self.opset }],
            graph: Some(GraphProto {
                node: self.nodes.iter().map(node).collect(),
                name: "twinfer".to_owned(),
                initializer: self.initializers.iter().map(initializer).collect(),
                input: self.inputs.iter().map(value_info).collect(),
                output: self.outputs.iter().map(value_info).collect(),
                sparse_initializer: Vec::new(),
            }),
            functions: Vec::new(),
        };
        model.encode_to_vec()
    }
}

/// The IR version of the ONNX release that introduced an operator set: the least that allows it, and so the one
/// that most readers take. Source: onnx/docs/Versioning.md, "Released Versions".
pub const fn ir_version(opset: i64) -> i64 {
    match opset {
        ..=11 => 6,
        12..=14 => 7,
        15..=18 => 8,
        19..=20 => 9,
        21..=22 => 10,
        23 => 11,
        24 => 12,
        25..=27 => 13,
        28.. => 14,
    }
}

fn node(node: &Node) -> NodeProto {
    NodeProto {
        input: node.inputs.clone(),
        output: node.outputs.clone(),
        name: node.name.clone(),
        op_type: node.op.op_type().to_owned(),
        attribute: attributes::write(&node.op),
        domain: String::new(),
    }
}

fn initializer(initializer: &Initializer) -> TensorProto {
    tensor_proto::encoded(&initializer.name, &initializer.tensor)
}

fn value_info(value: &ValueInfo) -> ValueInfoProto {
    let shape =
        value.shape.as_ref().map(|dims| TensorShapeProto { dim: dims.iter().map(dimension).collect() });
    let tensor_type = TensorTypeProto { elem_type: value.dtype.onnx_code(), shape };
    ValueInfoProto { name: value.name.clone(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
}

fn dimension(dim: &Dim) -> DimensionProto {
    let value = match dim {
        Dim::Fixed(extent) => Some(Extent::DimValue(*extent as i64)),
        Dim::Symbolic(name) if name.is_empty() => None,
        Dim::Symbolic(name) => Some(Extent::DimParam(name.clone())),
    };
    DimensionProto { value }
}
