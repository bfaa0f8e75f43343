//! The bytes of an ONNX model, and of a tensor of a `test_data_set`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use twinfer_onnx::{
    DecodeError, Dim, Graph, Interface, MAX_ELEMENTS, Outline, Tensor, Unsupported, element_count,
    infer_shapes,
};

/// The value of symbolic extents and of undeclared shapes.
const EXTENT: usize = 2;

fuzz_target!(|bytes: &[u8]| {
    tensor(bytes);
    match Graph::decode(bytes) {
        Ok(graph) => model(&graph),
        // a model that the graph cannot represent may go to backends as bytes
        Err(DecodeError::Unsupported(_)) => opaque(bytes),
        Err(_) => {}
    }
});

/// A decoded graph survives encoding and decoding, as ONNX and as JSON.
fn model(graph: &Graph) {
    let encoded = graph.encode();
    let again = Graph::decode(&encoded).expect("our own encoding");
    assert_eq!(again.encode(), encoded);
    let json = serde_json::to_vec(graph).expect("every graph can be written");
    let read: Graph = serde_json::from_slice(&json).expect("our own JSON");
    assert_eq!(read.encode(), encoded);

    let interface = Interface::decode(&encoded).expect("a graph has an interface");
    assert_eq!(interface.inputs, graph.inputs);
    let outline = Outline::decode(&encoded).expect("a graph has an outline");
    assert_eq!(outline.nodes.len(), graph.nodes.len());
    shapes(graph, &again);
}

/// Inferred shapes are bounded and deterministic.
fn shapes(graph: &Graph, again: &Graph) {
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(extent) => *extent,
        Dim::Symbolic(_) => EXTENT,
    };
    let declared = graph.inputs.iter().map(|input| input.shape.as_deref().unwrap_or_default());
    let inputs: Vec<Vec<usize>> = declared.map(|dims| dims.iter().map(extent).collect()).collect();
    match (infer_shapes(graph, &inputs), infer_shapes(again, &inputs)) {
        (Ok(shapes), Ok(same)) => {
            assert_eq!(shapes.outputs(), same.outputs());
            for node in &graph.nodes {
                let output = shapes.get(&node.outputs[0]).expect("every node gives a value");
                assert!(element_count(&output.shape).is_some_and(|count| count <= MAX_ELEMENTS));
            }
        }
        (shapes, same) => {
            assert_eq!(shapes.map_err(|rule| rule.to_string()), same.map_err(|rule| rule.to_string()));
        }
    }
}

/// Initializers in other files are refused, so that no backend looks for them.
fn opaque(bytes: &[u8]) {
    match Interface::decode(bytes) {
        Ok(interface) => {
            let refused = Graph::decode(bytes);
            assert!(!matches!(refused, Err(DecodeError::Unsupported(Unsupported::ExternalData(_)))));
            assert!(
                Outline::decode(bytes).is_ok_and(|outline| outline.nodes.len() == interface.operators.len())
            );
        }
        Err(error) => assert!(!matches!(error, DecodeError::Malformed(_)), "{error}"),
    }
}

fn tensor(bytes: &[u8]) {
    let Ok(tensor) = Tensor::decode_proto(bytes) else { return };
    assert_eq!(Some(tensor.len()), element_count(&tensor.shape));
    let encoded = tensor.encode_proto("x");
    assert_eq!(Tensor::decode_proto(&encoded).expect("our own encoding").to_le_bytes(), tensor.to_le_bytes());
    let json = serde_json::to_vec(&tensor).expect("every tensor can be written");
    let read: Tensor = serde_json::from_slice(&json).expect("our own JSON");
    assert_eq!(read.encode_proto("x"), encoded);
}
