//! `check` on models at the edge of what twinfer knows: judged, or refused with the reason, and no backend is blamed.

use std::fs;

use twinfer_onnx::{DataType, Dim, Graph, LeakyRelu, Node, Op, ValueInfo};
use twinfer_tests::Outcome;

use crate::twinfer;

fn value(name: &str) -> ValueInfo {
    ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: Some(vec![Dim::Fixed(3)]) }
}

fn relu(name: &str, input: &str, output: &str) -> Node {
    let names = |name: &str| vec![name.to_owned()];
    Node { name: name.to_owned(), op: Op::Relu, inputs: names(input), outputs: names(output) }
}

/// Checks a Relu with ONNX Runtime, after a change of the graph.
fn check(change: impl FnOnce(&mut Graph)) -> Outcome {
    check_encoded(change, |_| {})
}

/// Checks a Relu with ONNX Runtime, after a change of the graph and one of its encoded bytes.
fn check_encoded(change: impl FnOnce(&mut Graph), change_bytes: impl FnOnce(&mut Vec<u8>)) -> Outcome {
    let mut graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: vec![relu("node", "x", "y")],
        outputs: vec![value("y")],
    };
    change(&mut graph);
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.onnx");
    let mut bytes = graph.encode();
    change_bytes(&mut bytes);
    fs::write(&model, bytes).unwrap();
    twinfer(&["check", model.to_str().unwrap(), "--backends", "golden,ort:cpu", "--cases", "2"]).run()
}

#[test]
fn attribute_that_onnx_does_not_define_makes_model_invalid() {
    let leaky = |graph: &mut Graph| graph.nodes[0].op = Op::LeakyRelu(LeakyRelu { alpha: Some(0.5) });
    let misspell = |bytes: &mut Vec<u8>| {
        let place = bytes.windows(5).position(|name| name == b"alpha").unwrap();
        bytes[place..place + 5].copy_from_slice(b"alfas");
    };
    let outcome = check_encoded(leaky, misspell);
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    let refusal = "the model is invalid: node \"node\" (LeakyRelu): ONNX defines no attribute \"alfas\"";
    assert!(outcome.stderr.contains(refusal), "{}", outcome.stderr);
}

#[test]
fn output_that_is_an_input_conforms() {
    let outcome = check(|graph| graph.outputs.insert(0, value("x")));
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
}

#[test]
fn old_operator_set_is_judged() {
    let outcome = check(|graph| graph.opset = 7);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
}

#[test]
fn operator_set_newer_than_known_blames_no_backend() {
    let outcome = check(|graph| graph.opset = 99);
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("golden does not support operator set 99"), "{}", outcome.stderr);
}

/// A change of the shape of everything.
fn reshaped(extents: &'static [usize]) -> impl FnOnce(&mut Graph) {
    let shape = extents.iter().copied().map(Dim::Fixed).collect::<Vec<_>>();
    move |graph| {
        for value in graph.inputs.iter_mut().chain(&mut graph.outputs) {
            value.shape = Some(shape.clone());
        }
    }
}

#[test]
fn model_without_a_value_in_its_outputs_is_not_compared() {
    let outcome = check(reshaped(&[0, 3]));
    assert_eq!(outcome.code, Some(4), "{}", outcome.shown());
    assert!(outcome.stdout.contains("2 cases without values"), "{}", outcome.stdout);
}

#[test]
fn model_without_outputs_is_refused() {
    let outcome = check(|graph| graph.outputs.clear());
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("has no outputs, so there is nothing to compare"), "{}", outcome.stderr);
}

#[test]
fn model_too_large_for_twinfer_is_not_called_invalid() {
    let outcome = check(reshaped(&[1 << 20, 1 << 20]));
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("too large for twinfer"), "{}", outcome.stderr);
}

#[test]
fn nodes_with_one_name_are_refused() {
    let outcome = check(|graph| graph.nodes.insert(0, relu("node", "x", "z")));
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("unique-names"), "{}", outcome.stderr);
}
