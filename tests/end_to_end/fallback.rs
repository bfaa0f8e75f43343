//! A convolution that runs in another precision than its graph asks for is a finding beside one that gives wrong values.

use std::{
    fs::{self, DirEntry},
    path::Path,
};

use tempfile::TempDir;
use twinfer_onnx::{DequantizeLinear, Graph, Op, QuantizeLinear, TensorData};
use twinfer_tests::Outcome;

use crate::{
    culprit::{adapter, with_bugs},
    graphs::{image, initializer, make_relu_unknown, node, padded_conv, stored},
    twinfer,
};

/// A quantized convolution, then two of floats, the first with a bias.
fn model() -> TempDir {
    stored(&Graph {
        opset: 17,
        inputs: vec![image("x")],
        initializers: vec![
            initializer("scale", &[], TensorData::Float(vec![0.5])),
            initializer("zero", &[], TensorData::Int8(vec![0])),
            initializer("w", &[1, 1, 3, 3], TensorData::Int8((1..=9).collect())),
            initializer("v", &[1, 1, 3, 3], TensorData::Float((1..=9).map(|one| one as f32 / 7.0).collect())),
            initializer("bias", &[1], TensorData::Float(vec![0.3])),
        ],
        nodes: vec![
            node("quantize", Op::QuantizeLinear(QuantizeLinear::default()), &["x", "scale", "zero"]),
            node(
                "dequantize",
                Op::DequantizeLinear(DequantizeLinear::default()),
                &["quantize_out", "scale", "zero"],
            ),
            node("dequantize_w", Op::DequantizeLinear(DequantizeLinear::default()), &["w", "scale"]),
            node("quantized", padded_conv(), &["dequantize_out", "dequantize_w_out"]),
            node("float", padded_conv(), &["quantized_out", "v", "bias"]),
            node("last", padded_conv(), &["float_out", "v"]),
        ],
        outputs: vec![image("last_out")],
    })
}

fn check(model: &TempDir, backend: &str, known: Option<&Path>) -> Outcome {
    let path = |name: &str| model.path().join(name).display().to_string();
    _ = fs::remove_dir_all(path("run"));
    let backends = format!("golden,{backend}");
    let known =
        known.map_or_else(|| twinfer_tests::no_findings().to_owned(), |one| one.display().to_string());
    twinfer(&[
        "check",
        &path("model.onnx"),
        "--backends",
        &backends,
        "--cases",
        "2",
        "--known",
        &known,
        "--out",
        &path("run"),
    ])
    .run()
}

/// `negated` is explained by nothing, so that only the segments of the model show where its values go wrong.
#[test]
fn fallback_is_a_finding_beside_wrong_values_of_another_node() {
    for bug in ["bias-dropped", "negated"] {
        let model = model();
        let bugs = format!("--bug {bug}@float --on-floats");
        let Some(backend) = adapter("mutated_adapter.py", &bugs) else { return };
        let outcome = check(&model, &backend, None);
        assert_eq!(outcome.code, Some(1), "{bug}: {}", outcome.shown());
        assert!(outcome.stdout.contains("\n2 new findings\n"), "{bug}: {}", outcome.shown());
        let journal = fs::read_to_string(model.path().join("run/journal.jsonl")).unwrap();
        for kind in ["wrong-values", "precision-fallback"] {
            let kind = format!(r#""kind":"{kind}""#);
            assert_eq!(journal.lines().filter(|line| line.contains(&kind)).count(), 2, "{bug}: {journal}");
        }
        let all = model.path().join("known");
        fs::rename(model.path().join("run/findings"), &all).unwrap();
        let known = check(&model, &backend, Some(&all));
        assert_eq!(known.code, Some(0), "{bug}: {}", known.shown());
        for kind in ["wrong-values", "precision-fallback"] {
            let one = model.path().join(kind);
            fs::create_dir(&one).unwrap();
            let mut folders = fs::read_dir(&all).unwrap().map(|entry| entry.unwrap());
            let is_of_kind = |entry: &DirEntry| {
                entry.path().is_dir() && entry.file_name().to_str().unwrap().contains(kind)
            };
            let finding = folders.find(is_of_kind).unwrap();
            fs::rename(finding.path(), one.join(finding.file_name())).unwrap();
            let other = check(&model, &backend, Some(&all));
            assert_eq!(other.code, Some(1), "{bug}, {kind}: {}", other.shown());
            assert!(other.stdout.contains(&format!("      {kind}: ")), "{bug}, {kind}: {}", other.shown());
            fs::rename(one.join(finding.file_name()), finding.path()).unwrap();
        }
    }
}

/// The backend returns no values inside, so that each segment runs as a model of its own: the quantized one, too.
#[test]
fn fallback_hides_no_unexplained_error_of_another_node() {
    let model = model();
    let inside = "--on-floats --outputs-only";
    let Some(backend) = with_bugs(&model, &format!("negated@float {inside}")) else { return };
    let outcome = check(&model, &backend, None);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    let known = model.path().join("known");
    fs::rename(model.path().join("run/findings"), &known).unwrap();
    for (bugs, code) in [("negated@float", 0), ("negated@float+negated@last", 1), ("negated@last", 1)] {
        let backend = with_bugs(&model, &format!("{bugs} {inside}")).unwrap();
        let outcome = check(&model, &backend, Some(&known));
        assert_eq!(outcome.code, Some(code), "{bugs}: {}", outcome.shown());
    }
}

/// A quantized convolution between quantizers, then one of floats.
fn requantized() -> TempDir {
    let (quantize, dequantize) = (
        || Op::QuantizeLinear(QuantizeLinear::default()),
        || Op::DequantizeLinear(DequantizeLinear::default()),
    );
    stored(&Graph {
        opset: 17,
        inputs: vec![image("x")],
        initializers: vec![
            initializer("scale", &[], TensorData::Float(vec![0.5])),
            initializer("zero", &[], TensorData::Int8(vec![0])),
            initializer("scale_w", &[], TensorData::Float(vec![0.1])),
            initializer("w", &[1, 1, 3, 3], TensorData::Int8((1..=9).collect())),
            initializer("v", &[1, 1, 3, 3], TensorData::Float((1..=9).map(|one| one as f32 / 7.0).collect())),
        ],
        nodes: vec![
            node("quantize", quantize(), &["x", "scale", "zero"]),
            node("dequantize", dequantize(), &["quantize_out", "scale", "zero"]),
            node("dequantize_w", dequantize(), &["w", "scale_w"]),
            node("quantized", padded_conv(), &["dequantize_out", "dequantize_w_out"]),
            node("requantize", quantize(), &["quantized_out", "scale", "zero"]),
            node("requantized", dequantize(), &["requantize_out", "scale", "zero"]),
            node("float", padded_conv(), &["requantized_out", "v"]),
        ],
        outputs: vec![image("float_out")],
    })
}

/// The convolution is wrong only inside the whole model, by less than a quantization step. As a model of its own, the segment of the convolution and the quantizer only
/// runs in another precision.
#[test]
fn known_fallback_hides_no_error_of_its_node_that_shows_only_inside() {
    let model = requantized();
    let Some(fallen_back) = with_bugs(&model, "negated@none --on-floats") else { return };
    let outcome = check(&model, &fallen_back, None);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    let known = model.path().join("known");
    fs::rename(model.path().join("run/findings"), &known).unwrap();
    let again = check(&model, &fallen_back, Some(&known));
    assert_eq!(again.code, Some(0), "{}", again.shown());
    for floats in ["", "--on-floats"] {
        let inside = format!("one-percent-more@quantized --fewest-nodes 7 {floats}");
        let outcome = check(&model, &with_bugs(&model, &inside).unwrap(), Some(&known));
        assert_eq!(outcome.code, Some(1), "{inside}: {}", outcome.shown());
        assert!(outcome.stdout.contains(r#""quantized" (Conv)"#), "{inside}: {}", outcome.shown());
    }
}

/// The same with an operator at the end that golden does not support.
fn model_with_tanh() -> TempDir {
    let model = model();
    let path = model.path().join("model.onnx");
    let mut graph = Graph::decode(&fs::read(&path).unwrap()).unwrap();
    graph.nodes.push(node("tanh", Op::Relu, &["last_out"]));
    graph.outputs = vec![image("tanh_out")];
    fs::write(path, graph.encode()).unwrap();
    make_relu_unknown(&model);
    model
}

/// Only another backend shows that the unknown operator is wrong, since a third one with a wrong segment is compared with none. Where a backend
/// returns no values inside, a segment that runs as a model of its own shows the fallback.
#[test]
fn backend_with_a_fallback_is_still_compared_with_others() {
    let model = model_with_tanh();
    let Some(wrong) = adapter("mutated_adapter.py", "--bug negated@float") else { return };
    for inside in ["", " --outputs-only"] {
        let bugs = format!("--bug negated@tanh --on-floats{inside}");
        let fallen_back = adapter("mutated_adapter.py", &bugs).unwrap();
        for others in [format!("{fallen_back},ort:cpu"), format!("ort:cpu,{fallen_back}")] {
            let outcome = check(&model, &format!("{wrong},{others}"), None);
            assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
            let journal = fs::read_to_string(model.path().join("run/journal.jsonl")).unwrap();
            for kind in ["precision-fallback", "disagree"] {
                assert!(journal.contains(&format!(r#""kind":"{kind}""#)), "{others}: {journal}");
                assert!(outcome.stdout.contains(&format!("      {kind}: ")), "{others}: {}", outcome.shown());
            }
        }
    }
}

/// Values are compared between the backends all the same.
#[test]
fn known_fallback_does_not_make_a_comparison_incomplete() {
    let model = model_with_tanh();
    let Some(fallen_back) = with_bugs(&model, "negated@none --on-floats") else { return };
    let backends = format!("{fallen_back},ort:cpu");
    assert_eq!(check(&model, &backends, None).code, Some(1));
    let known = model.path().join("known");
    fs::rename(model.path().join("run/findings"), &known).unwrap();
    let (path, known) = (model.path().join("model.onnx"), known.display().to_string());
    let backends = format!("golden,{backends}");
    let arguments = ["check", path.to_str().unwrap(), "--backends", &backends, "--cases", "2"];
    let outcome = twinfer(&[&arguments[..], &["--known", &known, "--require-complete"]].concat()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
}

#[test]
fn fallback_in_a_model_with_unknown_operators_is_a_finding() {
    let model = model_with_tanh();
    for (bug, new) in [("bias-dropped@none", 1), ("bias-dropped@float", 2)] {
        let Some(backend) = with_bugs(&model, &format!("{bug} --on-floats")) else { return };
        let outcome = check(&model, &backend, None);
        assert_eq!(outcome.code, Some(1), "{bug}: {}", outcome.shown());
        assert_eq!(outcome.stdout.matches("\nnew   ").count(), new, "{bug}: {}", outcome.shown());
        let fallback = "precision-fallback: Conv quantized runs on FLOAT, not quantized";
        assert!(outcome.stdout.contains(fallback), "{bug}: {}", outcome.shown());
        let known = model.path().join("known");
        _ = fs::remove_dir_all(&known);
        fs::rename(model.path().join("run/findings"), &known).unwrap();
        let again = check(&model, &backend, Some(&known));
        assert_eq!(again.code, Some(0), "{bug}: {}", again.shown());
        let stored = twinfer(&["report", model.path().join("run").to_str().unwrap()]).run();
        assert_eq!(stored.stdout.lines().next(), again.stdout.lines().next(), "{bug}: {}", stored.shown());
    }
}

/// The model of seven nodes runs quantized. Its segments do not, as models of their own, which says nothing about the model.
#[test]
fn fallback_that_only_a_segment_shows_is_none() {
    let model = model_with_tanh();
    for (bug, code) in [("negated@none", 0), ("negated@quantized", 1)] {
        for inside in ["", " --outputs-only"] {
            let bugs = format!("{bug} --on-floats --quantized-from 7{inside}");
            let Some(backend) = with_bugs(&model, &bugs) else { return };
            let outcome = check(&model, &backend, None);
            assert_eq!(outcome.code, Some(code), "{bugs}: {}", outcome.shown());
            let journal = fs::read_to_string(model.path().join("run/journal.jsonl")).unwrap();
            assert!(!journal.contains("precision-fallback"), "{bugs}: {journal}");
            assert!(!outcome.stdout.contains("falls back"), "{bugs}: {}", outcome.shown());
        }
    }
}

/// That layers of the whole model do not tell how a convolution runs does not make it right.
#[test]
fn fallback_of_a_node_that_no_layer_of_the_model_tells_is_kept() {
    let model = model_with_tanh();
    let bugs = "negated@none --on-floats --told-below 7 --outputs-only";
    let Some(backend) = with_bugs(&model, bugs) else { return };
    let outcome = check(&model, &backend, None);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("precision-fallback: Conv quantized"), "{}", outcome.shown());
}
