use std::collections::HashSet;

use crate::{
    Dataflow, DecodeError, Unsupported, ValueInfo,
    decode::{model, value_info},
    proto::{TensorProto, is_default},
};

/// What can be told of any ONNX model without knowing its operators: enough to feed it and to name it.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// What the caller feeds, in order; initializers are not listed here.
    pub inputs: Vec<ValueInfo>,
    /// What the caller reads.
    pub outputs: Vec<ValueInfo>,
    /// The operator type of each node, in order; nodes inside of nodes are not looked at.
    pub operators: Vec<String>,
    /// Elements of all initializers, as their shapes say.
    pub initializer_elements: usize,
    /// From which nodes each value comes.
    pub dataflow: Dataflow,
}

impl Interface {
    /// Reads the interface of an ONNX model whose other parts stay bytes.
    ///
    /// Memory is bounded as in [`Graph::decode`](crate::Graph::decode). Inputs and outputs that are no dense tensors of a
    /// type that twinfer knows, and initializers in other files, are unsupported: the ones can be neither fed nor
    /// compared, the others are not in the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (model, is_external) = model(bytes)?;
        let graph = model.graph.ok_or(DecodeError::Missing("graph"))?;
        let imported = model.opset_import.iter().find(|import| is_default(&import.domain));
        let dataflow =
            Dataflow::of_graph(imported.map_or(0, |import| import.version), &graph, &model.functions);
        if let Some(external) = graph.initializer.iter().find(|initializer| initializer.data_location != 0) {
            return Err(Unsupported::ExternalData(external.name.clone()).into());
        }
        if is_external {
            return Err(Unsupported::NestedExternalData.into());
        }
        let initializer_elements =
            graph.initializer.iter().map(elements).fold(0, |sum: usize, count| sum.saturating_add(count));
        let constant: HashSet<_> =
            graph.initializer.into_iter().map(|initializer| initializer.name).collect();
        let fed = graph.input.into_iter().filter(|input| !constant.contains(&input.name));
        Ok(Self {
            inputs: fed.map(value_info).collect::<Result<_, _>>()?,
            outputs: graph.output.into_iter().map(value_info).collect::<Result<_, _>>()?,
            operators: graph.node.into_iter().map(|node| node.op_type).collect(),
            initializer_elements,
            dataflow,
        })
    }
}

fn elements(initializer: &TensorProto) -> usize {
    let extents = initializer.dims.iter().map(|extent| usize::try_from(*extent).unwrap_or(0));
    extents.fold(1, usize::saturating_mul)
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::{
        DataType, Dim, Graph, MAX_MODEL_BYTES,
        proto::{
            DimensionProto, Extent, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto,
            TensorTypeProto, TypeProto, ValueInfoProto,
        },
    };

    fn value(name: &str, extents: Vec<Extent>) -> ValueInfoProto {
        let dim = extents.into_iter().map(|extent| DimensionProto { value: Some(extent) }).collect();
        let tensor_type = TensorTypeProto { elem_type: 1, shape: Some(TensorShapeProto { dim }) };
        ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
    }

    fn gemm() -> ModelProto {
        let weights = TensorProto {
            name: "b".to_owned(),
            dims: vec![2, 3],
            data_type: 1,
            float_data: vec![1.0; 6],
            ..Default::default()
        };
        let node = NodeProto {
            op_type: "Gemm".to_owned(),
            input: vec!["a".to_owned(), "b".to_owned()],
            output: vec!["y".to_owned()],
            ..Default::default()
        };
        let fixed = Extent::DimValue;
        let graph = GraphProto {
            node: vec![node],
            initializer: vec![weights],
            input: vec![
                value("b", vec![fixed(2), fixed(3)]),
                value("a", vec![Extent::DimParam("N".to_owned()), fixed(2)]),
            ],
            output: vec![value("y", vec![Extent::DimParam("N".to_owned()), fixed(3)])],
            ..Default::default()
        };
        ModelProto {
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
            graph: Some(graph),
            ..Default::default()
        }
    }

    #[test]
    fn the_inputs_of_a_model_are_read_whatever_its_operators() {
        let bytes = gemm().encode_to_vec();
        assert!(matches!(Graph::decode(&bytes), Err(DecodeError::Unsupported(_))));
        let interface = Interface::decode(&bytes).expect("an ONNX model");
        let shape = Some(vec![Dim::Symbolic("N".to_owned()), Dim::Fixed(2)]);
        assert_eq!(
            interface.inputs,
            [ValueInfo { name: "a".to_owned(), dtype: DataType::Float, shape }],
            "an initializer is not fed"
        );
        assert_eq!(interface.outputs.len(), 1);
        assert_eq!(interface.operators, ["Gemm"]);
        assert_eq!(interface.initializer_elements, 6);
    }

    #[test]
    fn what_can_be_neither_fed_nor_compared_is_refused() {
        let no_tensor = || Some(TypeProto { tensor_type: None });
        let mut sequence_out = gemm();
        sequence_out.graph.as_mut().expect("it has one").output[0].r#type = no_tensor();
        let mut sequence_in = gemm();
        sequence_in.graph.as_mut().expect("it has one").input[1].r#type = no_tensor();
        for (model, name) in [(sequence_out, "y"), (sequence_in, "a")] {
            let refused = Interface::decode(&model.encode_to_vec());
            assert_eq!(refused, Err(Unsupported::NotATensor(name.to_owned()).into()));
        }
    }

    #[test]
    fn initializers_in_other_files_are_refused() {
        let mut model = gemm();
        let graph = model.graph.as_mut().expect("it has one");
        graph.initializer[0].data_location = 1;
        let refused = Interface::decode(&model.encode_to_vec());
        assert_eq!(refused, Err(Unsupported::ExternalData("b".to_owned()).into()));
    }

    #[test]
    fn an_initializer_that_claims_a_huge_shape_costs_nothing() {
        let mut model = gemm();
        let graph = model.graph.as_mut().expect("it has one");
        graph.initializer[0].dims = vec![i64::MAX, i64::MAX];
        let interface = Interface::decode(&model.encode_to_vec()).expect("an ONNX model");
        assert_eq!(interface.initializer_elements, usize::MAX);
    }

    #[test]
    fn what_is_no_model_is_refused() {
        assert!(matches!(Interface::decode(b"not a model"), Err(DecodeError::Malformed(_))));
        assert_eq!(Interface::decode(&[]), Err(DecodeError::Missing("graph")));
        let long = vec![0; MAX_MODEL_BYTES + 1];
        assert_eq!(Interface::decode(&long), Err(DecodeError::TooLarge(long.len())));
    }
}
