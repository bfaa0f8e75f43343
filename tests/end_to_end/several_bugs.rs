//! A backend with bugs in two operators: nearly every case with one of the operators has the other one as well, and shows its bug.

use std::fs;

use tempfile::TempDir;
use twinfer_case::Kind;
use twinfer_onnx::{DequantizeLinear, Graph, Op, TensorData};
use twinfer_tests::no_findings;

use crate::{
    culprit::{adapter, with_bugs},
    graphs::{image, initializer, node, padded_conv, stored},
    planted::findings,
    twinfer,
};

#[test]
fn bug_is_explained_beside_a_bug_of_another_operator() {
    let bugs = "--bug zero-point-before-rounding+kernel-reversed";
    let Some(backend) = adapter("mutated_adapter.py", bugs) else { return };
    let backends = format!("golden,{backend}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let outcome = twinfer(
        &[
            &["fuzz", "--trust", "--jobs", "1", "--seed", "22", "--cases", "1", "--shard", "19/1000"][..],
            &["--backends", &backends, "--family", "qdq-conv,qdq-deconv", "--distribution", "baseline"],
            &["--known", no_findings(), "--out", out.to_str().unwrap()],
        ]
        .concat(),
    )
    .run();
    let findings = findings(&out);
    let [finding] = &findings[..] else { panic!("{}", outcome.shown()) };
    assert_eq!(finding.diagnosis, ["zero-point-before-rounding"], "{}", outcome.shown());
    let trigger = finding.trigger.as_ref().expect("it is one of QuantizeLinear");
    assert!(trigger.is_sufficient(), "{trigger}");
    assert_eq!(trigger.condition(), "QuantizeLinear");
}

/// Between releases of a backend, other elements may differ most.
#[test]
fn explanation_is_found_again_where_other_elements_differ_most() {
    let Some(backend) = adapter("mutated_adapter.py", "--bug bounds-in-seven-digits") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let backends = format!("golden,{backend}");
    let outcome = twinfer(
        &[
            &["fuzz", "--trust", "--seed", "11", "--cases", "1", "--shard", "162/1000"][..],
            &[
                "--backends",
                &backends,
                "--family",
                "conv",
                "--known",
                no_findings(),
                "--out",
                out.to_str().unwrap(),
            ],
        ]
        .concat(),
    )
    .run();
    let [finding] = &findings(&out)[..] else { panic!("{}", outcome.shown()) };
    assert_eq!(finding.diagnosis, ["bounds-in-seven-digits"], "{}", outcome.shown());
    let file = out.join("findings").join(finding.signature.slug()).join("finding.json");
    let stored = fs::read_to_string(&file).unwrap();
    let others = stored
        .replace("elements differ; at [", "elements differ; at [1, ")
        .replace(r#""mutant": "bounds-in-seven-digits""#, r#""mutant": "truncated""#);
    assert!(others.contains("at [1, ") && others.contains("truncated"), "{stored}");
    fs::write(&file, others).unwrap();
    let explained = twinfer(&["explain", "--trust", file.parent().unwrap().to_str().unwrap()]).run();
    let clause =
        "because: output equals golden if Clip rounds its bounds to seven significant decimal digits";
    assert!(explained.stdout.contains(clause), "{}", explained.shown());
}

/// TensorRT-RTX ignores `output_shape` beside `auto_pad`, so that an Add refuses what a ConvTranspose gives it.
#[test]
fn refusal_that_follows_from_a_wrong_shape_is_that_finding() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let outcome = twinfer(&[
        "fuzz",
        "--backends",
        "golden,trt-rtx",
        "--distribution",
        "baseline",
        "--seed",
        "2611277",
        "--shard",
        "85/1000",
        "--cases",
        "1",
        "--known",
        no_findings(),
        "--out",
        out.to_str().unwrap(),
    ])
    .run();
    let findings = findings(&out);
    let [finding] = &findings[..] else { panic!("{}", outcome.shown()) };
    assert_eq!(finding.kind, Kind::WrongShape, "{}", outcome.shown());
    assert_eq!(finding.diagnosis, ["output-shape-ignored"]);
    let journal = fs::read_to_string(out.join("journal.jsonl")).unwrap();
    assert!(journal.contains("rejects-valid") && journal.contains(&finding.signature.slug()), "{journal}");
}

/// A case in which neither bug accounts for the output by itself.
#[test]
fn two_known_bugs_that_show_together_are_known() {
    let Some(backend) = adapter("mutated_adapter.py", "--bug bias-dropped+pads-swapped") else { return };
    let backends = format!("golden,{backend}");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let drawn = ["--family", "conv", "--distribution", "baseline", "--seed", "22"];
    let campaign = ["fuzz", "--trust", "--jobs", "1", "--cases", "12", "--known", no_findings()];
    let outcome =
        twinfer(&[&campaign[..], &drawn, &["--backends", &backends, "--out", &path("run")]].concat()).run();
    let found = findings(&folder.path().join("run"));
    let mut names: Vec<_> = found.iter().flat_map(|one| &one.diagnosis).collect();
    names.sort_unstable();
    assert_eq!(names, ["bias-dropped", "pads-swapped"], "{}", outcome.shown());
    twinfer(&[&["generate", "--cases", "9", "--out", &path("cases")][..], &drawn].concat()).run();
    let check = |known: &str, out: &str| {
        let case = path("cases/conv-22-8");
        let arguments = ["check", &case, "--backends", &backends, "--known", known, "--out", out];
        twinfer(&arguments).run()
    };
    let known = check(&path("run/findings"), &path("known"));
    assert_eq!(known.code, Some(0), "{}", known.shown());
    let pads = found.iter().find(|one| one.diagnosis == ["pads-swapped"]);
    let pads = path("run/findings/") + &pads.expect("it was found").signature.slug();
    fs::remove_dir_all(&pads).unwrap();
    let new = check(&path("run/findings"), &path("new"));
    assert_eq!(new.code, Some(1), "{}", new.shown());
    let clause = "the `pads` at the start and at the end of each axis are swapped, and the bias is not added";
    assert!(new.stdout.contains(clause), "{}", new.shown());
}

/// A convolution of dequantized weights, one with a bias, and one without.
fn three_convolutions() -> TempDir {
    stored(&Graph {
        opset: 17,
        inputs: vec![image("x")],
        initializers: vec![
            initializer("w", &[1, 1, 3, 3], TensorData::Int8((1..=9).collect())),
            initializer("scale", &[], TensorData::Float(vec![0.5])),
            initializer("v", &[1, 1, 3, 3], TensorData::Float((1..=9).map(|one| one as f32 / 7.0).collect())),
            initializer("bias", &[1], TensorData::Float(vec![0.3])),
        ],
        nodes: vec![
            node("dequantize", Op::DequantizeLinear(DequantizeLinear::default()), &["w", "scale"]),
            node("first", padded_conv(), &["x", "dequantize_out"]),
            node("second", padded_conv(), &["first_out", "v", "bias"]),
            node("third", padded_conv(), &["second_out", "v"]),
        ],
        outputs: vec![image("third_out")],
    })
}

/// Nothing explains the errors, so they are known where they were found.
#[test]
fn unexplained_errors_at_known_nodes_are_known_together() {
    let model = three_convolutions();
    let path = |name: &str| model.path().join(name).display().to_string();
    let checked = |bugs: &str| {
        let backends = format!("golden,{}", with_bugs(&model, bugs)?);
        _ = fs::remove_dir_all(path("run"));
        let arguments = ["check", &path("model.onnx"), "--backends", &backends, "--cases", "2"];
        let known = ["--known", &path("first"), "--known", &path("second"), "--out", &path("run")];
        Some(twinfer(&[&arguments[..], &known].concat()).run())
    };
    for node in ["first", "second"] {
        fs::create_dir(path("first")).unwrap_or_default();
        fs::create_dir(path("second")).unwrap_or_default();
        let Some(outcome) = checked(&format!("negated@{node}")) else { return };
        assert_eq!(outcome.code, Some(1), "{node}: {}", outcome.shown());
        fs::remove_dir(path(node)).unwrap();
        fs::rename(path("run/findings"), path(node)).unwrap();
    }
    for (bugs, new) in [
        ("negated@first+negated@second", 0),
        ("negated@first+negated@third", 1),
        ("negated@first+negated@second+negated@third", 1),
    ] {
        let outcome = checked(bugs).unwrap();
        assert_eq!(outcome.code, Some(new), "{bugs}: {}", outcome.shown());
    }
}
