//! Which differences between two backends are known.

use std::{fs, path::Path};

use tempfile::TempDir;
use twinfer_onnx::{Graph, Op};
use twinfer_tests::Outcome;

use crate::{
    culprit::adapter,
    graphs::{image, make_relu_unknown, node, stored},
    twinfer,
};

/// Two outputs, each a Tanh of the input, which golden does not support.
fn model() -> TempDir {
    let model = stored(&Graph {
        opset: 17,
        inputs: vec![image("x")],
        initializers: Vec::new(),
        nodes: vec![node("one", Op::Relu, &["x"]), node("two", Op::Relu, &["x"])],
        outputs: vec![image("one_out"), image("two_out")],
    });
    make_relu_unknown(&model);
    make_relu_unknown(&model);
    model
}

#[derive(Clone, Copy)]
enum Order {
    OrtFirst,
    OrtLast,
}

/// Checks the model with ONNX Runtime and a backend that has these bugs; `None` if there is no Python that has what the backend needs.
fn check(model: &TempDir, order: Order, bugs: &str, known: &Path) -> Option<Outcome> {
    let path = |name: &str| model.path().join(name).display().to_string();
    let worker = adapter("mutated_adapter.py", &format!("--bug {bugs}"))?;
    fs::write(path("worker.sh"), format!("exec {}\n", worker.trim_start_matches("external:"))).unwrap();
    let worker = format!("external:sh {}", path("worker.sh"));
    let backends = match order {
        Order::OrtFirst => format!("ort:cpu,{worker}"),
        Order::OrtLast => format!("{worker},ort:cpu"),
    };
    _ = fs::remove_dir_all(path("run"));
    let given =
        ["check", &path("model.onnx"), "--backends", &backends, "--cases", "2", "--out", &path("run")];
    Some(twinfer(&[&given[..], &["--known", known.to_str().unwrap()]].concat()).run())
}

#[test]
fn disagreement_is_known_at_its_outputs_up_to_its_size_in_either_order() {
    let (model, nothing) = (model(), Path::new(twinfer_tests::no_findings()));
    let known = model.path().join("known");
    let Some(first) = check(&model, Order::OrtFirst, "one-percent-more@one", nothing) else { return };
    assert_eq!(first.code, Some(1), "{}", first.shown());
    fs::rename(model.path().join("run/findings"), &known).unwrap();
    for (bugs, code, note) in [
        ("one-percent-more@one", 0, None),
        ("negated@one", 1, Some(r#"its error is much larger at these outputs: "one_out""#)),
        ("one-percent-more@two", 1, Some(r#"shows at other outputs: "two_out""#)),
        ("one-percent-more", 1, Some(r#"shows at other outputs: "two_out""#)),
    ] {
        for order in [Order::OrtFirst, Order::OrtLast] {
            let outcome = check(&model, order, bugs, &known).unwrap();
            assert_eq!(outcome.code, Some(code), "{bugs}: {}", outcome.shown());
            assert!(note.is_none_or(|note| outcome.stderr.contains(note)), "{bugs}: {}", outcome.shown());
        }
    }
}
