//! An external backend that never writes an element of its output.

use std::{fs, path::Path};

use twinfer_case::{Finding, Kind};
use twinfer_onnx::{DataType, Dim, Graph, Node, Op, ValueInfo};
use twinfer_tests::Outcome;

use crate::{fuzz::findings, twinfer};

/// The worker, with this argument.
fn unwritten(argument: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("end_to_end/adapters/unwritten.py");
    format!("external:python3 {} {argument}", script.display())
}

/// The Relu of five floats.
fn relu() -> Graph {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(5)]),
    };
    let node = Node {
        name: "node".to_owned(),
        op: Op::Relu,
        inputs: vec!["x".to_owned()],
        outputs: vec!["y".to_owned()],
    };
    let (inputs, outputs) = (vec![value("x")], vec![value("y")]);
    Graph { opset: 17, inputs, initializers: Vec::new(), nodes: vec![node], outputs }
}

/// What `check` says of the Relu against the worker with this argument, and the only finding.
fn checked(argument: &str) -> (Outcome, Finding) {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (folder.path().join("model.onnx"), folder.path().join("run"));
    fs::write(&model, relu().encode()).unwrap();
    let backends = format!("golden,{}", unwritten(argument));
    let files = [model.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let outcome = twinfer(&[&["check", "--backends", &backends], &files[..]].concat()).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    let names = findings(&out);
    assert_eq!(names.len(), 1, "{}", outcome.shown());
    let finding = fs::read(out.join("findings").join(&names[0]).join("finding.json")).unwrap();
    (outcome, serde_json::from_slice(&finding).unwrap())
}

#[test]
fn adapter_that_fills_its_outputs_shows_what_it_never_writes() {
    let (outcome, finding) = checked("fills");
    assert_eq!(finding.kind, Kind::UnwrittenOutput, "{}", outcome.shown());
    assert_eq!(finding.outcomes.len(), 1, "{:?}", finding.outcomes);
    assert_eq!(finding.outcomes[0].total(), 10);
    let detail = "1 of 5 elements differ, 1 of them unwritten; at [4] NaN instead of";
    assert!(outcome.stdout.contains(detail), "{}", outcome.shown());
}

#[test]
fn adapter_that_fills_nothing_is_asked_for_nothing() {
    let (outcome, finding) = checked("");
    assert_eq!(finding.kind, Kind::WrongValues, "{}", outcome.shown());
    assert!(!outcome.stdout.contains("unwritten;"), "{}", outcome.shown());
}
