use std::collections::HashSet;

use prost::Message;

use crate::{
    Dim, Graph, Initializer, MAX_OPSET, MIN_OPSET, Node, ValueInfo, attributes,
    census::{Census, MAX_MESSAGES},
    constant,
    decode_error::{DecodeError, MAX_MODEL_BYTES, Unsupported},
    proto::{
        DimensionProto, Extent, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
        ValueInfoProto, is_default,
    },
    tensor_proto::{element_type, extent, tensor},
};

impl Graph {
    /// As [`decode`](Self::decode), unless the model is of an operator set that twinfer does not know.
    pub fn decode_known(bytes: &[u8]) -> Result<Self, DecodeError> {
        let graph = Self::decode(bytes)?;
        if (MIN_OPSET..=MAX_OPSET).contains(&graph.opset) {
            Ok(graph)
        } else {
            Err(Unsupported::Opset(graph.opset).into())
        }
    }

    /// The graph of an ONNX model, unless it has something that twinfer does not represent.
    ///
    /// Memory is bounded by a constant times `bytes`, which is at most [`MAX_MODEL_BYTES`]; no other file is read.
    /// The result is well-formed, not yet known to be valid: [`infer_shapes`](crate::infer_shapes) tells.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (model, _) = model(bytes)?;
        if !model.functions.is_empty() {
            return Err(Unsupported::Functions.into());
        }
        let opset = default_opset(model.opset_import)?;
        let graph = model.graph.ok_or(DecodeError::Missing("graph"))?;
        if !graph.sparse_initializer.is_empty() {
            return Err(Unsupported::SparseInitializer.into());
        }
        from_proto(opset, graph)
    }
}

/// The model, and whether a tensor anywhere in it is in another file.
pub fn model(bytes: &[u8]) -> Result<(ModelProto, bool), DecodeError> {
    if bytes.len() > MAX_MODEL_BYTES {
        return Err(DecodeError::TooLarge(bytes.len()));
    }
    let census = Census::of_model(bytes);
    if census.messages > MAX_MESSAGES {
        return Err(DecodeError::TooManyMessages);
    }
    Ok((ModelProto::decode(bytes)?, census.is_external))
}

fn from_proto(opset: i64, graph: GraphProto) -> Result<Graph, DecodeError> {
    // first, so that a model of other operators says so, whatever else it has
    let (constants, nodes): (Vec<_>, Vec<_>) = graph.node.into_iter().partition(constant::is_constant);
    let nodes = nodes.into_iter().map(node).collect::<Result<_, _>>()?;
    // an input with an initializer has a default value, which is what it is given
    let given: HashSet<_> = graph.initializer.iter().map(|initializer| initializer.name.clone()).collect();
    let inputs = graph.input.into_iter().filter(|input| !given.contains(&input.name));
    let inputs = inputs.map(value_info).collect::<Result<_, _>>()?;
    let initializers = graph.initializer.into_iter().map(initializer);
    let constants = constants.into_iter().map(|node| constant::initializer(&node));
    let initializers = initializers.chain(constants).collect::<Result<Vec<_>, _>>()?;
    Ok(Graph {
        opset,
        inputs,
        nodes,
        outputs: graph.output.into_iter().map(value_info).collect::<Result<_, _>>()?,
        initializers,
    })
}

pub fn default_opset(imports: Vec<OperatorSetIdProto>) -> Result<i64, DecodeError> {
    if let Some(import) = imports.iter().find(|import| is_default(&import.domain)) {
        return Ok(import.version);
    }
    match imports.into_iter().next() {
        Some(other) => Err(Unsupported::Domain(other.domain).into()),
        None => Err(DecodeError::Missing("operator set")),
    }
}

pub fn node(node: NodeProto) -> Result<Node, DecodeError> {
    if !is_default(&node.domain) {
        return Err(Unsupported::Domain(node.domain).into());
    }
    let op = attributes::read(&node.name, &node.op_type, node.attribute)?;
    if node.output.len() > 1 {
        return Err(Unsupported::OptionalOutputs { node: node.name, op_type: node.op_type }.into());
    }
    Ok(Node { op, name: node.name, inputs: node.input, outputs: node.output })
}

pub fn value_info(value: ValueInfoProto) -> Result<ValueInfo, DecodeError> {
    let Some(tensor) = value.r#type.ok_or(DecodeError::Missing("type of an input or output"))?.tensor_type
    else {
        return Err(Unsupported::NotATensor(value.name).into());
    };
    let dtype = element_type(&value.name, tensor.elem_type)?;
    let shape = match tensor.shape {
        None => None,
        Some(shape) => {
            Some(shape.dim.into_iter().map(|dim| dimension(&value.name, dim)).collect::<Result<_, _>>()?)
        }
    };
    Ok(ValueInfo { name: value.name, dtype, shape })
}

fn dimension(name: &str, dim: DimensionProto) -> Result<Dim, DecodeError> {
    Ok(match dim.value {
        None => Dim::Symbolic(String::new()),
        Some(Extent::DimParam(symbol)) => Dim::Symbolic(symbol),
        Some(Extent::DimValue(value)) => Dim::Fixed(extent(name, value)?),
    })
}

pub fn initializer(proto: TensorProto) -> Result<Initializer, DecodeError> {
    let name = proto.name.clone();
    let tensor = tensor(proto)?;
    Ok(Initializer { name, tensor })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AttributeFault,
        proto::{AttributeProto, FunctionProto, TensorTypeProto, TypeProto},
    };

    fn node_proto(op_type: &str) -> NodeProto {
        let names = |names: [&str; 1]| names.map(str::to_owned).to_vec();
        NodeProto {
            op_type: op_type.to_owned(),
            input: names(["x"]),
            output: names(["y"]),
            ..Default::default()
        }
    }

    fn float_value(name: &str) -> ValueInfoProto {
        let tensor_type = TensorTypeProto { elem_type: 1, shape: None };
        ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
    }

    fn model(change: impl FnOnce(&mut ModelProto, &mut GraphProto)) -> Result<Graph, DecodeError> {
        let mut graph = GraphProto {
            node: vec![node_proto("Relu")],
            input: vec![float_value("x")],
            output: vec![float_value("y")],
            ..Default::default()
        };
        let mut model = ModelProto {
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
            ..Default::default()
        };
        change(&mut model, &mut graph);
        model.graph = Some(graph);
        Graph::decode(&model.encode_to_vec())
    }

    fn unsupported(change: impl FnOnce(&mut ModelProto, &mut GraphProto)) -> Unsupported {
        match model(change) {
            Err(DecodeError::Unsupported(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// What is wrong with the attribute of a node of this operator.
    fn fault(op_type: &str, attribute: AttributeProto) -> AttributeFault {
        let node = NodeProto { attribute: vec![attribute], ..node_proto(op_type) };
        match model(|_, graph| graph.node = vec![node]) {
            Err(DecodeError::InvalidAttribute { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_graph_cannot_hold_is_unsupported_and_named() {
        assert_eq!(
            unsupported(|_, graph| graph.node = vec![node_proto("Gelu")]),
            Unsupported::Operator { op_type: "Gelu".to_owned() }
        );
        assert_eq!(
            unsupported(|_, graph| graph.node[0].domain = "com.microsoft".to_owned()),
            Unsupported::Domain("com.microsoft".to_owned())
        );
        let max = AttributeProto { name: "max".to_owned(), f: Some(1.0), r#type: 1, ..Default::default() };
        let clip = NodeProto { attribute: vec![max], ..node_proto("Clip") };
        assert!(matches!(
            unsupported(|_, graph| graph.node = vec![clip]),
            Unsupported::Attribute { attribute, .. } if attribute == "max"
        ));
        assert!(matches!(
            unsupported(|_, graph| graph.node[0].output.push("z".to_owned())),
            Unsupported::OptionalOutputs { .. }
        ));
        assert_eq!(
            unsupported(|model, _| model.functions = vec![FunctionProto::default()]),
            Unsupported::Functions
        );
        let external =
            TensorProto { name: "w".to_owned(), data_type: 1, data_location: 1, ..Default::default() };
        assert_eq!(
            unsupported(|_, graph| graph.initializer = vec![external]),
            Unsupported::ExternalData("w".to_owned())
        );
    }

    #[test]
    fn an_initializer_that_is_also_an_input_is_a_constant() {
        let constant =
            TensorProto { name: "x".to_owned(), data_type: 1, float_data: vec![1.5], ..Default::default() };
        let graph = model(|_, graph| graph.initializer = vec![constant]).expect("valid");
        assert!(graph.inputs.is_empty());
        assert_eq!(graph.initializers[0].tensor.to_f64(), [1.5]);
    }

    /// A Constant that assigns 1.5.
    fn constant_node(output: &str) -> NodeProto {
        let value =
            AttributeProto { name: "value_float".to_owned(), f: Some(1.5), r#type: 1, ..Default::default() };
        NodeProto {
            op_type: "Constant".to_owned(),
            output: vec![output.to_owned()],
            attribute: vec![value],
            ..Default::default()
        }
    }

    #[test]
    fn a_constant_node_is_an_initializer() {
        let graph = model(|_, graph| graph.node.insert(0, constant_node("c"))).expect("valid");
        assert_eq!(graph.nodes.len(), 1);
        assert_eq!(
            (graph.initializers[0].name.as_str(), graph.initializers[0].tensor.to_f64()[0]),
            ("c", 1.5)
        );
    }

    #[test]
    fn an_input_that_a_constant_node_assigns_again_is_kept() {
        let graph = model(|_, graph| graph.node.insert(0, constant_node("x"))).expect("read");
        assert_eq!((graph.inputs[0].name.as_str(), graph.initializers[0].name.as_str()), ("x", "x"));
    }

    #[test]
    fn an_operator_set_that_twinfer_does_not_know_is_unsupported() {
        let known =
            |opset| Graph::decode_known(&Graph { opset, ..model(|_, _| {}).expect("valid") }.encode());
        for opset in [-1, 6, 27] {
            assert_eq!(known(opset), Err(Unsupported::Opset(opset).into()));
        }
        assert!(known(7).is_ok() && known(26).is_ok());
    }

    #[test]
    fn attributes_that_onnx_does_not_define_so_are_invalid() {
        let named = |name: &str| AttributeProto { name: name.to_owned(), ..Default::default() };
        let text = AttributeProto { s: Some(b"SAME".to_vec()), r#type: 3, ..named("auto_pad") };
        let undefined =
            AttributeFault::UndefinedValue { attribute: "auto_pad".to_owned(), value: "SAME".to_owned() };
        assert_eq!(fault("Conv", text), undefined);
        let float = AttributeProto { f: Some(1.5), r#type: 1, ..named("strides") };
        assert_eq!(fault("Conv", float), AttributeFault::WrongType("strides".to_owned()));
        let misspelled = AttributeProto { ints: vec![2], r#type: 7, ..named("stride") };
        assert_eq!(fault("Conv", misspelled), AttributeFault::Undefined("stride".to_owned()));
    }

    #[test]
    fn a_model_beyond_the_limit_is_refused_unread() {
        assert_eq!(
            Graph::decode(&vec![0; MAX_MODEL_BYTES + 1]),
            Err(DecodeError::TooLarge(MAX_MODEL_BYTES + 1))
        );
    }
}
