//! Names and messages of others on their way to a terminal and into reports.

use std::{fs, path::Path};

use twinfer_onnx::{DataType, Dim, Graph, Node, Op, ValueInfo};
use twinfer_tests::Outcome;

use crate::twinfer;

/// A name that clears the screen, sets the window's title and reverses what follows.
const NAME: &str = "x\u{1b}[2J\u{1b}]0;title\u{7}\u{202e}";

/// Writes a model of one operator, all of whose names are hostile.
fn write_model(path: &Path) {
    let named = |end: &str| format!("{NAME}{end}");
    let value = |name: &str| ValueInfo {
        name: named(name),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Symbolic(named("N")), Dim::Fixed(5)]),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("in")],
        initializers: Vec::new(),
        nodes: vec![Node {
            name: named("node"),
            op: Op::Relu,
            inputs: vec![named("in")],
            outputs: vec![named("out")],
        }],
        outputs: vec![value("out")],
    };
    fs::write(path, graph.encode()).unwrap();
}

fn assert_harmless(outcome: &Outcome) {
    for text in [&outcome.stdout, &outcome.stderr] {
        let is_harmful = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        let harmful: Vec<_> = text.chars().filter(|c| is_harmful(*c)).collect();
        assert!(harmful.is_empty(), "{harmful:?} in {text:?}");
    }
}

/// An external backend that returns its input, so that it diverges.
fn unchanged() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("end_to_end/adapters/unchanged.py");
    format!("golden,external:python3 {}", script.display())
}

#[test]
fn escape_in_a_name_reaches_no_report() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| twinfer(arguments).within(folder.path()).run();
    write_model(&folder.path().join("model.onnx"));
    let check = ["check", "model.onnx", "--backends", &unchanged(), "--out", "run"];
    let outcome = run(&check);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert_harmless(&outcome);
    for format in ["terminal", "json", "junit", "markdown", "html"] {
        let report = run(&["report", "run", "--format", format]);
        assert_eq!(report.code, Some(0), "{}", report.shown());
        let name = if format == "json" { r"x\u001b[2J" } else { r"x\" };
        assert!(report.stdout.contains(name), "{format} does not show the name: {}", report.shown());
        assert_harmless(&report);
    }
}

#[test]
fn escape_in_a_path_or_a_message_reaches_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| twinfer(arguments).within(folder.path()).run();
    let missing = run(&["report", NAME]);
    assert_eq!(missing.code, Some(2), "{}", missing.shown());
    assert!(missing.stderr.contains(r"x\u{1b}[2J"), "{}", missing.shown());
    assert_harmless(&missing);
    let backend = r"golden,external:printf '\033[2J\r\342\200\256' >&2; exit 1";
    let failing = run(&["fuzz", "--backends", backend, "--cases", "1", "--out", "run"]);
    assert_eq!(failing.code, Some(3), "{}", failing.shown());
    assert_harmless(&failing);
}

#[test]
fn error_line_has_a_maximum() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a/".repeat(3000);
    let outcome = twinfer(&["report", &long]).within(folder.path()).run();
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.shown());
    assert!(outcome.stderr.chars().count() < 2100, "{} characters", outcome.stderr.chars().count());
}
