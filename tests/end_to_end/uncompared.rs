//! Outputs that backends are not compared on: because random numbers decide, or because they depend on a segment that is wrong.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use twinfer_onnx::{Graph, Op, TensorData};
use twinfer_tests::Outcome;

use crate::{
    culprit::adapter,
    graphs::{image, initializer, make_relu_unknown, node, padded_conv, replace_operator, stored},
    twinfer,
};

/// Two outputs: a convolution of a convolution, and a convolution of its Tanh, which golden does not support.
fn forked() -> TempDir {
    let model = stored(&Graph {
        opset: 17,
        inputs: vec![image("x")],
        initializers: vec![initializer(
            "w",
            &[1, 1, 3, 3],
            TensorData::Float((1..=9).map(|one| one as f32 / 32.0).collect()),
        )],
        nodes: vec![
            node("first", padded_conv(), &["x", "w"]),
            node("second", padded_conv(), &["first_out", "w"]),
            node("tanh", Op::Relu, &["first_out"]),
            node("third", padded_conv(), &["tanh_out", "w"]),
        ],
        outputs: vec![image("second_out"), image("third_out")],
    });
    make_relu_unknown(&model);
    model
}

/// Checks the model with a backend that has these bugs, and ONNX Runtime; `None` if there is no Python that has what the backend needs.
fn check(model: &TempDir, bugs: &str, known: Option<&Path>, arguments: &[&str]) -> Option<Outcome> {
    let path = |name: &str| model.path().join(name).display().to_string();
    let worker = adapter("mutated_adapter.py", &format!("--bug {bugs}"))?;
    fs::write(path("worker.sh"), format!("exec {}\n", worker.trim_start_matches("external:"))).unwrap();
    let backends = format!("golden,external:sh {},ort:cpu", path("worker.sh"));
    let known =
        known.map_or_else(|| twinfer_tests::no_findings().to_owned(), |one| one.display().to_string());
    _ = fs::remove_dir_all(path("run"));
    let given = ["check", &path("model.onnx"), "--backends", &backends, "--cases", "2", "--known", &known];
    Some(twinfer(&[&given[..], &["--out", &path("run")], arguments].concat()).run())
}

/// The findings of the last check.
fn keep_findings(model: &TempDir) -> PathBuf {
    let known = model.path().join("known");
    fs::rename(model.path().join("run/findings"), &known).unwrap();
    known
}

/// The segment is wrong as a model of its own, or only inside the whole model.
#[test]
fn output_that_depends_on_no_wrong_segment_is_compared_all_the_same() {
    for inside in ["", " --fewest-nodes 4"] {
        let model = forked();
        let bug = format!("negated@second{inside}");
        let Some(first) = check(&model, &bug, None, &[]) else { return };
        assert_eq!(first.code, Some(1), "{}", first.shown());
        let note = r#"output "second_out" was not compared with other backends, since a segment"#;
        assert_eq!(first.stdout.matches(note).count(), 2, "{}", first.shown());
        assert!(!first.stdout.contains("third_out"), "{}", first.shown());
        let known = keep_findings(&model);
        for (bugs, code) in [(bug, 0), (format!("negated@second+negated@tanh{inside}"), 1)] {
            let outcome = check(&model, &bugs, Some(&known), &[]).unwrap();
            assert_eq!(outcome.code, Some(code), "{bugs}: {}", outcome.shown());
            assert_eq!(outcome.stdout.contains("      disagree: "), code == 1, "{bugs}: {}", outcome.shown());
        }
    }
}

#[test]
fn what_depends_on_a_wrong_segment_makes_a_comparison_incomplete() {
    let model = forked();
    let Some(first) = check(&model, "negated@first", None, &[]) else { return };
    assert_eq!(first.code, Some(1), "{}", first.shown());
    let known = keep_findings(&model);
    for (arguments, code) in [(&[][..], 0), (&["--require-complete"], 4)] {
        let outcome = check(&model, "negated@first", Some(&known), arguments).unwrap();
        assert_eq!(outcome.code, Some(code), "{}", outcome.shown());
    }
}

#[test]
fn output_that_random_numbers_decide_makes_a_comparison_incomplete() {
    let model = stored(&Graph {
        opset: 17,
        inputs: vec![image("x")],
        initializers: vec![initializer("w", &[1, 1, 3, 3], TensorData::Float(vec![0.125; 9]))],
        nodes: vec![
            node("first", padded_conv(), &["x", "w"]),
            node("random", Op::HardSwish, &["first_out"]),
            node("second", padded_conv(), &["random_out", "w"]),
        ],
        outputs: vec![image("second_out")],
    });
    replace_operator(&model, "HardSwish", "Bernoulli");
    let Some(outcome) = check(&model, "negated@none", None, &["--require-complete"]) else { return };
    assert_eq!(outcome.code, Some(4), "{}", outcome.shown());
    let note = r#"output "second_out" was not compared with other backends, since random numbers decide"#;
    assert!(outcome.stdout.contains(note), "{}", outcome.shown());
}
