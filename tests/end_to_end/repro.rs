//! `repro`: a reproduction folder for users without twinfer.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;
use twinfer_tests::golden;

use crate::twinfer;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs `repro` on a stored case; returns the folder and its README.
fn reproduction(case: &str, arguments: &[&str]) -> (TempDir, String) {
    let out = tempfile::tempdir().unwrap();
    let case = golden().join(case);
    let outcome = twinfer(&[&["repro", text(&case), "--out", text(out.path())], arguments].concat()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let page = fs::read_to_string(out.path().join("README.md")).unwrap();
    (out, page)
}

#[test]
fn finding_readme_uses_recorded_observations() {
    let (out, page) = reproduction("cases/trt-execute-wrong-values-pads-swapped-6e1277b5", &[]);
    insta::assert_snapshot!(page);
    for file in
        ["model.onnx", "data.py", "reproduce.py", "test_data_set_0/output_0.pb", "raw/run_0_input_0.bin"]
    {
        assert!(out.path().join(file).is_file(), "{file}");
    }
}

#[test]
fn topic_readme_uses_named_backends() {
    let backends = ["--backends", "golden,ort:cpu,opt=off"];
    let (_out, page) = reproduction("cases/topics/output-padding-1d-pad-1-within", &backends);
    insta::assert_snapshot!(page);
}

#[test]
fn script_reproduces_expected_outputs() {
    let (out, _) = reproduction("catalogue/ort-10020-empty-then-nonempty", &["--backends", "ort:cpu"]);
    let has_packages = Command::new("python3").args(["-c", "import numpy, onnx, onnxruntime"]).output();
    if !has_packages.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 with onnx and onnxruntime is needed");
        return;
    }
    let run = Command::new("python3").arg(out.path().join("reproduce.py")).output().unwrap();
    let stdout = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{stdout}{}", String::from_utf8_lossy(&run.stderr));
    assert!(stdout.contains("run 1, output 0: largest difference 0"), "{stdout}");
}

#[test]
fn unrecorded_case_or_existing_folder_is_wrong_usage() {
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
