//! `repro`: a reproduction folder for users without twinfer.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use twinfer_prerequisites::{has_python_with, skip};
use twinfer_tests::{executable, golden};

use crate::{culprit::adapter, twinfer};

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
    for file in [
        "model.onnx",
        "data.py",
        "reproduce.py",
        "run_model.py",
        "test_data_set_0/output_0.pb",
        "raw/run_0_input_0.bin",
    ] {
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
fn readme_for_a_program_of_the_user_runs_it_with_twinfer() {
    let Some(backend) = adapter("mutated_adapter.py", "--bug negated") else { return };
    let backends = ["--backends", &format!("golden,{backend}")];
    let (out, page) = reproduction("cases/topics/output-padding-1d-pad-1-within", &backends);
    let command = page.lines().find(|line| line.starts_with("twinfer check ")).expect(&page);
    let arguments = command.strip_prefix("twinfer check . --backends ").expect(&page);
    let outcome = twinfer(&["check", text(out.path()), "--backends", arguments.trim_matches('\'')]).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("wrong-values"), "{}", outcome.shown());
    assert!(!page.contains("pip install"), "{page}");
}

#[test]
fn readme_of_an_invalid_model_says_what_is_wrong_with_it() {
    let (_out, page) = reproduction("cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2", &[]);
    let requirement = "because the graph breaks a requirement of ONNX: `group` is at least one.";
    assert!(page.contains(requirement), "{page}");
    assert!(page.contains("Here: node"), "{page}");
}

/// A folder with a copy of a stored finding, and the path of that.
fn copied_finding() -> (TempDir, PathBuf) {
    let name = "trt-execute-wrong-values-pads-swapped-6e1277b5";
    let folder = tempfile::tempdir().unwrap();
    let finding = folder.path().join(name);
    fs::create_dir(&finding).unwrap();
    let stored = golden().join("cases").join(name);
    for file in
        fs::read_dir(&stored).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        fs::copy(&file, finding.join(file.file_name().unwrap())).unwrap();
    }
    let observed = format!("{name}.observed.json");
    fs::copy(golden().join("cases").join(&observed), folder.path().join(&observed)).unwrap();
    (folder, finding)
}

/// What is stored was observed on the case that the finding had.
#[test]
fn case_of_a_finding_that_was_changed_is_not_reported() {
    let (folder, finding) = copied_finding();
    let case = finding.join("case.json");
    let text_of_case = fs::read_to_string(&case).unwrap();
    let other = text_of_case.replacen("\"opset\": 12", "\"opset\": 13", 1);
    assert_ne!(text_of_case, other);
    fs::write(&case, other).unwrap();
    let out = folder.path().join("out");
    let outcome = twinfer(&["repro", text(&finding), "--out", text(&out)]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("is not the one of its finding"), "{}", outcome.shown());
}

#[test]
fn finding_is_reproduced_from_its_own_folder_and_through_a_link() {
    let (folder, finding) = copied_finding();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&finding, &link).unwrap();
    for (within, given) in [(&*finding, "."), (folder.path(), "link")] {
        let out = folder.path().join(format!("out-of-{}", given.len()));
        let outcome = twinfer(&["repro", given, "--out", text(&out)]).within(within).run();
        assert_eq!(outcome.code, Some(0), "{given}: {}", outcome.shown());
    }
}

#[test]
fn readme_of_a_finding_that_varies_lists_its_outcomes() {
    let (_folder, finding) = copied_finding();
    let out = tempfile::tempdir().unwrap();
    let mut json: Value =
        serde_json::from_str(&fs::read_to_string(finding.join("finding.json")).unwrap()).unwrap();
    json["kind"] = json!("unstable");
    json["outcomes"] = json!([
        {"stage": "execute", "ended": "ok", "kinds": [], "times": {"warm": 7}},
        {"stage": "execute", "ended": "ok", "kinds": ["wrong-values"], "times": {"warm": 2, "fresh": 1}},
    ]);
    fs::write(finding.join("finding.json"), json.to_string()).unwrap();
    let outcome = twinfer(&["repro", text(&finding), "--out", text(out.path())]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let page = fs::read_to_string(out.path().join("README.md")).unwrap();
    assert!(page.contains("- 7 of 10: execute ok: conforms\n- 3 of 10: execute ok: wrong-values"), "{page}");
}

#[test]
fn reproduction_for_rten_has_a_program_to_compile() {
    let program = executable(env!("CARGO_BIN_EXE_twinfer-under-test")).with_file_name("twinfer-rten");
    if !program.is_file() {
        skip("rten", format!("{} is missing", program.display()));
        return;
    }
    let (out, page) = reproduction("catalogue/ort-5368-same-upper-lower-swapped", &["--backends", "rten"]);
    assert!(page.contains("pip install numpy\npython reproduce.py rten"), "{page}");
    let manifest = fs::read_to_string(out.path().join("rten/Cargo.toml")).unwrap();
    assert!(manifest.contains("rten = \"=0.27.0\""), "{manifest}");
    assert!(out.path().join("rten/src/main.rs").is_file());
}

/// The exit status of the script of a reproduction and what it printed; `None` without the Python packages that it needs.
fn script(folder: &Path) -> Option<(Option<i32>, String)> {
    if !has_python_with("numpy, onnx, onnxruntime") {
        return None;
    }
    Some(reproduce(folder, &[]))
}

/// Runs the script of a reproduction; its exit status and what it printed.
fn reproduce(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let run = Command::new("python3").arg(folder.join("reproduce.py")).args(arguments).output().unwrap();
    let printed = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (run.status.code(), printed.concat())
}

#[test]
fn script_prints_its_commands_if_asked_for_help() {
    let (out, _) = reproduction("cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2", &[]);
    if script(out.path()).is_none() {
        return;
    }
    let (status, printed) = reproduce(out.path(), &["--help"]);
    assert_eq!(status, Some(0), "{printed}");
    insta::assert_snapshot!(printed);
}

#[test]
fn script_cannot_tell_if_another_failure_comes_first() {
    let (out, _) = reproduction("cases/trt-execute-wrong-values-pads-swapped-6e1277b5", &[]);
    fs::write(out.path().join("model.onnx"), "no model").unwrap();
    if script(out.path()).is_none() {
        return;
    }
    let (status, printed) = reproduce(out.path(), &["onnxruntime"]);
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("not what was reported: parse fails"), "{printed}");
    assert!(printed.contains("the backend fails before it could show wrong-values"), "{printed}");
}

#[test]
fn script_exits_with_0_if_the_bug_does_not_show() {
    for case in ["catalogue/ort-10020-empty-then-nonempty", "cases/topics/depthwise-qdq-6-channels"] {
        let (out, _) = reproduction(case, &["--backends", "ort:cpu"]);
        let Some((status, printed)) = script(out.path()) else { return };
        assert_eq!(status, Some(0), "{case}: {printed}");
        assert!(
            printed.contains("CPUExecutionProvider") && printed.contains("the bug does not show"),
            "{printed}"
        );
    }
}

#[test]
fn script_exits_with_1_while_the_bug_shows() {
    let (out, _) = reproduction("cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2", &[]);
    let Some((status, printed)) = script(out.path()) else { return };
    assert_eq!(status, Some(1), "{printed}");
    let lines: Vec<_> = printed.lines().filter(|line| !line.starts_with("log: ")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn script_exits_with_1_if_one_value_is_wrong() {
    let (out, _) = reproduction("cases/topics/depthwise-qdq-6-channels", &["--backends", "ort:cpu"]);
    let values = out.path().join("expected/run_0_output_0_values.bin");
    let mut bytes = fs::read(&values).unwrap();
    let first = f64::from_le_bytes(bytes[..8].try_into().unwrap());
    bytes[..8].copy_from_slice(&(first + 1e6).to_le_bytes());
    fs::write(&values, bytes).unwrap();
    let Some((status, printed)) = script(out.path()) else { return };
    assert_eq!(status, Some(1), "{printed}");
    assert!(printed.contains("elements differ; at [0, 0, 0, 0]"), "{printed}");
}

#[test]
fn script_cannot_tell_without_the_provider() {
    let (out, page) = reproduction("cases/ort-cuda-execute-rejects-valid-batchnormalization-a4459c61", &[]);
    assert!(page.contains("pip install numpy onnx onnxruntime-gpu[cuda,cudnn]==1.31.1"), "{page}");
    let Some((status, printed)) = script(out.path()) else { return };
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("has no CUDAExecutionProvider"), "{printed}");
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
