//! Which differences between two backends are known.

use std::{fs, path::Path};

use tempfile::TempDir;
use twinfer_onnx::{Graph, Op};
use twinfer_tests::Outcome;

use crate::{
    graphs::{image, make_relu_unknown, node, stored},
    opaque::unchanged,
    twinfer,
};

/// Two outputs, each a Tanh of an input, which golden does not support.
fn model() -> TempDir {
    let model = stored(&Graph {
        opset: 17,
        inputs: vec![image("x1"), image("x2")],
        initializers: Vec::new(),
        nodes: vec![node("one", Op::Relu, &["x1"]), node("two", Op::Relu, &["x2"])],
        outputs: vec![image("one_out"), image("two_out")],
    });
    make_relu_unknown(&model);
    make_relu_unknown(&model);
    model
}

/// The order in which two backends are named.
#[derive(Clone, Copy)]
enum Order {
    Straight,
    Reversed,
}

/// Checks the model with a backend that returns its inputs, and one that multiplies them by these factors.
fn check(model: &TempDir, order: Order, factors: &str, known: &Path) -> Outcome {
    let path = |name: &str| model.path().join(name).display().to_string();
    let backend = |name: &str, factors: &str| {
        let command = unchanged();
        let command = command.trim_start_matches("external:");
        fs::write(path(name), format!("exec {command} scaled {factors}\n")).unwrap();
        format!("external:sh {}", path(name))
    };
    let (one, other) = (backend("one.sh", "1 1"), backend("other.sh", factors));
    let backends = match order {
        Order::Straight => format!("{one},{other}"),
        Order::Reversed => format!("{other},{one}"),
    };
    _ = fs::remove_dir_all(path("run"));
    let given =
        ["check", &path("model.onnx"), "--backends", &backends, "--cases", "2", "--out", &path("run")];
    twinfer(&[&given[..], &["--known", known.to_str().unwrap()]].concat()).run()
}

#[test]
fn disagreement_is_known_at_its_outputs_up_to_its_size_in_either_order() {
    let (model, nothing) = (model(), Path::new(twinfer_tests::no_findings()));
    let known = model.path().join("known");
    let first = check(&model, Order::Straight, "1.01 1", nothing);
    assert_eq!(first.code, Some(1), "{}", first.shown());
    fs::rename(model.path().join("run/findings"), &known).unwrap();
    for (factors, code, note) in [
        ("1.01 1", 0, None),
        ("-1 1", 1, Some(r#"its error is much larger at these outputs: "one_out""#)),
        ("1 1.01", 1, Some(r#"shows at other outputs: "two_out""#)),
        ("1.01 1.01", 1, Some(r#"shows at other outputs: "two_out""#)),
    ] {
        for order in [Order::Straight, Order::Reversed] {
            let outcome = check(&model, order, factors, &known);
            assert_eq!(outcome.code, Some(code), "{factors}: {}", outcome.shown());
            assert!(note.is_none_or(|note| outcome.stderr.contains(note)), "{factors}: {}", outcome.shown());
        }
    }
}
