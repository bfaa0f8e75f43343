//! `repro`: what somebody without twinfer is given.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;
use twinfer_tests::golden;

use crate::twinfer;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The reproduction of a stored case, and its page.
fn reproduction(case: &str, arguments: &[&str]) -> (TempDir, String) {
    let out = tempfile::tempdir().unwrap();
    let case = golden().join(case);
    let outcome = twinfer(&[&["repro", text(&case), "--out", text(out.path())], arguments].concat()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let page = fs::read_to_string(out.path().join("README.md")).unwrap();
    (out, page)
}

#[test]
fn a_finding_is_explained_by_what_was_recorded_of_it() {
    let (out, page) = reproduction("cases/trt-execute-wrong-values-pads-swapped-6e1277b5", &[]);
    insta::assert_snapshot!(page);
    for file in
        ["model.onnx", "data.py", "reproduce.py", "test_data_set_0/output_0.pb", "raw/run_0_input_0.bin"]
    {
        assert!(out.path().join(file).is_file(), "{file}");
    }
}

#[test]
fn a_topic_is_explained_by_what_backends_do_now() {
    let backends = ["--backends", "golden,ort:cpu,opt=off"];
    let (_out, page) = reproduction("cases/topics/output-padding-1d-pad-1-within", &backends);
    insta::assert_snapshot!(page);
}

#[test]
fn the_script_sees_the_expected_outputs_without_twinfer() {
    let (out, _) = reproduction("catalogue/ort-10020-empty-then-nonempty", &["--backends", "ort:cpu"]);
    let has_packages = Command::new("python3").args(["-c", "import numpy, onnx, onnxruntime"]).output();
    if !has_packages.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 with onnx and onnxruntime is needed");
        return;
    }
    let run = Command::new("python3").arg(out.path().join("reproduce.py")).output().unwrap();
    let told = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{told}{}", String::from_utf8_lossy(&run.stderr));
    assert!(told.contains("run 1, output 0: largest difference 0"), "{told}");
}

#[test]
fn a_case_of_which_nothing_is_known_needs_backends_and_nothing_is_overwritten() {
    let (case, full) = (tempfile::tempdir().unwrap(), golden());
    let from = golden().join("cases/topics/output-padding-1d-pad-1-within/case.json");
    fs::copy(from, case.path().join("case.json")).unwrap();
    let out = case.path().join("out");
    let unknown = twinfer(&["repro", text(case.path()), "--out", text(&out)]).run();
    assert_eq!(unknown.code, Some(2), "{}", unknown.shown());
    assert!(unknown.stderr.contains("--backends"), "{}", unknown.stderr);
    let overwriting = twinfer(&["repro", text(case.path()), "--out", text(&full)]).run();
    assert_eq!(overwriting.code, Some(2), "{}", overwriting.shown());
}
