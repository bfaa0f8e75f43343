//! `check` on a model with an unsupported operator: variants are compared with each other.

use std::{fs, path::Path};

use tempfile::TempDir;
use twinfer_case::Finding;
use twinfer_onnx::{DataType, Dim, Graph, Node, Op, ValueInfo};
use twinfer_tests::Outcome;

use crate::twinfer;

/// A model with one operator of this name, which must have four letters.
pub fn model(operator: &str) -> TempDir {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Symbolic("N".to_owned()), Dim::Fixed(5)]),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: vec![Node {
            name: "node".to_owned(),
            op: Op::Relu,
            inputs: vec!["x".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y")],
    };
    let mut bytes = graph.encode();
    let place = bytes.windows(4).position(|word| word == b"Relu").unwrap();
    bytes[place..place + 4].copy_from_slice(operator.as_bytes());
    assert!(Graph::decode(&bytes).is_err(), "the IR knows {operator}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.onnx"), bytes).unwrap();
    folder
}

pub fn check(folder: &TempDir, arguments: &[&str]) -> Outcome {
    let model = folder.path().join("model.onnx");
    twinfer(&[&["check", model.to_str().unwrap()], arguments].concat()).run()
}

/// An external backend that returns its input, in plain Python.
pub fn unchanged() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("end_to_end/adapters/unchanged.py");
    format!("external:python3 {}", script.display())
}

#[test]
fn agreeing_variants_conform_on_unsupported_operator() {
    let outcome = check(&model("Tanh"), &["--backends", "ort:cpu,opt=off,ort:cpu,opt=all"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(outcome.stdout.contains("8 compared on all variants"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("no new findings"), "{}", outcome.stdout);
}

#[test]
fn variants_are_compared_on_model_too_large_for_golden() {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(1 << 23), Dim::Symbolic("N".to_owned())]),
    };
    let node = |input: &str, output: &str| Node {
        name: output.to_owned(),
        op: Op::Relu,
        inputs: vec![input.to_owned()],
        outputs: vec![output.to_owned()],
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: vec![node("x", "y"), node("y", "z")],
        outputs: vec![value("z")],
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.onnx"), graph.encode()).unwrap();
    let variants = "ort:cpu,opt=off,ort:cpu,opt=all";
    let outcome = check(&folder, &["--backends", variants, "--cases", "1", "--dim", "N=2"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(outcome.stdout.contains("1 compared on all variants"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("is too large for golden"), "{}", outcome.stdout);
    let alone = check(&folder, &["--backends", "ort:cpu", "--cases", "1", "--dim", "N=2"]);
    assert_ne!(alone.code, Some(0), "{}", alone.shown());
}

#[test]
fn differing_variants_disagree_on_unsupported_operator() {
    let (folder, out) = (model("Tanh"), tempfile::tempdir().unwrap());
    let run = out.path().join("run");
    let backends = format!("ort:cpu,{}", unchanged());
    let arguments = ["--backends", &backends, "--dim", "N=3", "--out", run.to_str().unwrap()];
    let outcome = check(&folder, &arguments);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains(" and ort:cpu: run 0: output 0: element"), "{}", outcome.stdout);
    let finding = fs::read_dir(run.join("findings")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(finding.join("finding.json")).unwrap();
    assert!(text.contains(r#""blame": "nobody""#), "{text}");
    assert_eq!(repeats(&text), [("execute ok: disagree".to_owned(), 10)]);
    assert_eq!(
        fs::read(finding.join("model.onnx")).unwrap(),
        fs::read(folder.path().join("model.onnx")).unwrap()
    );
    assert!(finding.join("test_data_set_0/input_0.pb").is_file());
    let reported = twinfer(&["report", run.to_str().unwrap()]).run();
    assert_eq!(reported.code, Some(0), "{}", reported.shown());
    assert!(reported.stdout.contains("disagree"), "{}", reported.stdout);
    let explained = twinfer(&["explain", run.to_str().unwrap(), "--trust"]).run();
    assert_eq!(explained.code, Some(0), "{}", explained.shown());
    assert!(explained.stdout.contains("no case to experiment with"), "{}", explained.shown());
}

/// The outcomes of a finding with how often each came.
fn repeats(finding: &str) -> Vec<(String, u32)> {
    let finding: Finding = serde_json::from_str(finding).unwrap();
    finding.outcomes.iter().map(|one| (one.outcome.to_string(), one.total())).collect()
}

#[test]
fn disagreement_that_comes_and_goes_is_unstable() {
    let (folder, out) = (model("Tanh"), tempfile::tempdir().unwrap());
    let (run, count) = (out.path().join("run"), out.path().join("count"));
    let backends = format!("ort:cpu,{} execute {}", unchanged(), count.display());
    let arguments = ["--backends", &backends, "--cases", "1", "--out", run.to_str().unwrap()];
    let outcome = check(&folder, &arguments);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("unstable: one of several outcomes: disagree: "), "{}", outcome.stdout);
    let finding = fs::read_dir(run.join("findings")).unwrap().next().unwrap().unwrap().path();
    let repeats = repeats(&fs::read_to_string(finding.join("finding.json")).unwrap());
    let [(refused, refusals), (answered, answers)] = &repeats[..] else { panic!("{repeats:?}") };
    assert_eq!([refused.as_str(), answered], ["load rejected NO: disagree", "execute ok: disagree"]);
    assert!(*refusals >= 3 && refusals + answers == 10, "{repeats:?}");
}

#[test]
fn variant_that_changes_its_answer_is_nondeterministic() {
    let (backends, model) = (format!("{} fickle,ort:cpu", unchanged()), model("Tanh"));
    let run = model.path().join("run");
    let arguments = ["--backends", &backends, "--dim", "N=3", "--cases", "1"];
    let outcome = check(&model, &[&arguments[..], &["--out", run.to_str().unwrap()]].concat());
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("nondeterministic: asked twice: run 0: output 0"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("disagree"), "{}", outcome.stdout);
    let known = run.join("findings");
    let again = check(&model, &[&arguments[..], &["--known", known.to_str().unwrap()]].concat());
    assert_eq!(again.code, Some(4), "ONNX Runtime is compared with nothing: {}", again.shown());
}

#[test]
fn rejection_by_one_variant_is_disagreement() {
    let backends = format!("ort:cpu,{}", unchanged());
    let outcome = check(&model("Nope"), &["--backends", &backends, "--cases", "1"]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains(" accepts the model, and ort:cpu refuses it: "), "{}", outcome.stdout);
}

#[test]
fn model_rejected_by_all_variants_is_not_compared() {
    let outcome = check(&model("Nope"), &["--backends", "ort:cpu,opt=off,ort:cpu,opt=all"]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.shown());
    assert!(outcome.stdout.contains("0 compared on all variants"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("no new findings"), "{}", outcome.stdout);
    let line =
        outcome.stdout.lines().find(|line| line.contains("ort:cpu,opt=off: 8 cases without a reference"));
    assert!(line.is_some_and(|line| line.contains("rejected in parse: ")), "{}", outcome.stdout);
    // it has a symbolic dimension
    assert!(outcome.stdout.contains("--dim N=32"), "{}", outcome.stdout);
}

/// Another backend only builds, so that nothing is compared with the one that executes.
#[test]
fn backend_that_alone_executes_is_told_to_name_another() {
    let backends = format!("ort:cpu,{} build", unchanged());
    let outcome = check(&model("Tanh"), &["--backends", &backends]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.shown());
    assert!(outcome.stdout.contains("name two that execute it here"), "{}", outcome.shown());
}

#[test]
fn single_variant_with_unsupported_operator_is_wrong_usage() {
    let outcome = check(&model("Tanh"), &["--backends", "ort:cpu"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("name two backends"), "{}", outcome.stderr);
}

#[test]
fn unknown_dimension_is_wrong_usage() {
    let outcome = check(&model("Tanh"), &["--backends", "ort:cpu", "--dim", "M=3"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
}
