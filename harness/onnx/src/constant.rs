//! Constant nodes, which say the same as initializers.

use crate::{
    DecodeError, Initializer, Tensor, TensorData, Unsupported,
    proto::{AttributeProto, NodeProto, attribute_type, is_default},
    tensor_proto::tensor,
};

/// Whether `node` is a Constant.
pub fn is_constant(node: &NodeProto) -> bool {
    node.op_type == "Constant" && is_default(&node.domain)
}

/// The initializer that says the same as a Constant.
pub fn initializer(node: &NodeProto) -> Result<Initializer, DecodeError> {
    let [output] = node.output.as_slice() else {
        return Err(DecodeError::Missing("output of a Constant"));
    };
    Ok(Initializer { name: output.clone(), tensor: read(node)? })
}

/// The tensor of a Constant.
pub fn read(node: &NodeProto) -> Result<Tensor, DecodeError> {
    let [attribute] = node.attribute.as_slice() else {
        return Err(DecodeError::MissingAttribute { node: node.name.clone(), attribute: "value" });
    };
    value(attribute)?.ok_or_else(|| {
        Unsupported::Attribute {
            node: node.name.clone(),
            op_type: node.op_type.clone(),
            attribute: attribute.name.clone(),
        }
        .into()
    })
}

/// The tensor that an attribute states; `None` for strings and sparse tensors.
fn value(attribute: &AttributeProto) -> Result<Option<Tensor>, DecodeError> {
    let scalar = |data| Tensor { shape: Vec::new(), data };
    Ok(Some(match (attribute.name.as_str(), attribute.r#type) {
        ("value", attribute_type::TENSOR) => match &attribute.t {
            Some(proto) => tensor((**proto).clone())?,
            None => return Ok(None),
        },
        ("value_float", attribute_type::FLOAT) => {
            scalar(TensorData::Float(vec![attribute.f.unwrap_or_default()]))
        }
        ("value_int", attribute_type::INT) => {
            scalar(TensorData::Int64(vec![attribute.i.unwrap_or_default()]))
        }
        ("value_floats", attribute_type::FLOATS) => {
            Tensor { shape: vec![attribute.floats.len()], data: TensorData::Float(attribute.floats.clone()) }
        }
        ("value_ints", attribute_type::INTS) => {
            Tensor { shape: vec![attribute.ints.len()], data: TensorData::Int64(attribute.ints.clone()) }
        }
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, Node, Op, proto::TensorProto};

    fn constant(attribute: AttributeProto) -> NodeProto {
        NodeProto { op_type: "Constant".to_owned(), attribute: vec![attribute], ..Default::default() }
    }

    fn attribute(name: &str, r#type: i32) -> AttributeProto {
        AttributeProto { name: name.to_owned(), r#type, ..Default::default() }
    }

    #[test]
    fn every_numeric_form_of_a_constant_is_read() {
        let proto = TensorProto { dims: vec![2], data_type: 7, int64_data: vec![3, 4], ..Default::default() };
        let forms = [
            AttributeProto { t: Some(Box::new(proto)), ..attribute("value", 4) },
            AttributeProto { f: Some(1.5), ..attribute("value_float", 1) },
            AttributeProto { i: Some(-2), ..attribute("value_int", 2) },
            AttributeProto { floats: vec![1.0, 2.0], ..attribute("value_floats", 6) },
            AttributeProto { ints: vec![5], ..attribute("value_ints", 7) },
        ];
        let read = forms.map(|form| read(&constant(form)).expect("numeric"));
        let shapes: Vec<_> = read.iter().map(|tensor| tensor.shape.clone()).collect();
        assert_eq!(shapes, [vec![2], vec![], vec![], vec![2], vec![1]]);
        let elements = read.map(|tensor| tensor.to_f64());
        assert_eq!(elements, [vec![3.0, 4.0], vec![1.5], vec![-2.0], vec![1.0, 2.0], vec![5.0]]);
    }

    #[test]
    fn encoded_constant_decodes_to_an_initializer() {
        let value = Tensor { shape: vec![2], data: TensorData::Int8(vec![-3, 4]) };
        let node = Node {
            name: "constant".to_owned(),
            op: Op::Constant(value.clone()),
            inputs: vec![],
            outputs: vec!["w".to_owned()],
        };
        let graph =
            Graph { opset: 20, inputs: vec![], initializers: vec![], nodes: vec![node], outputs: vec![] };
        assert_eq!(graph.initializer("w"), Some(&value));
        let decoded = Graph::decode(&graph.encode()).expect("a known operator");
        assert_eq!(decoded.initializers, [Initializer { name: "w".to_owned(), tensor: value }]);
        assert_eq!(decoded.nodes, []);
        let json = serde_json::to_string(&graph).expect("a graph is data");
        assert_eq!(serde_json::from_str::<Graph>(&json).expect("as written"), graph);
    }

    #[test]
    fn text_sparse_or_no_value_is_refused() {
        let text = AttributeProto { s: Some(b"x".to_vec()), ..attribute("value_string", 3) };
        for form in [text, attribute("sparse_value", 11), attribute("value", 4)] {
            assert!(matches!(read(&constant(form)), Err(DecodeError::Unsupported(_))));
        }
        let none = NodeProto { attribute: Vec::new(), ..constant(AttributeProto::default()) };
        assert!(matches!(read(&none), Err(DecodeError::MissingAttribute { .. })));
    }
}
