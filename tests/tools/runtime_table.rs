//! `runtime-table` says of each case and runtime what happened, and in which release a bug was repaired.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::{Value, json};
use tempfile::TempDir;
use twinfer_tests::{Outcome, golden};

use crate::{EQUAL, UNUSABLE, path_of};

/// The exit code if no runtime ran.
const NOTHING: i32 = 3;

/// The four releases of ONNX Runtime, oldest first.
const RELEASES: [&str; 4] = ["ort-1.17", "ort-1.22", "ort-1.31", "ort-1.32"];

fn conforming() -> Value {
    json!({"shows": "ok"})
}

fn diverging() -> Value {
    json!({"shows": "wrong-values"})
}

/// A repository with the page and nothing else.
fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("docs/generated")).unwrap();
    fs::write(folder.path().join("docs/generated/runtimes.md"), "# Runtimes\n").unwrap();
    folder
}

fn run_in(folder: &Path, arguments: &[&str]) -> Outcome {
    Outcome::of(Command::new(path_of("runtime-table")).args(arguments).current_dir(folder).output().unwrap())
}

fn result(column: &str, fields: &Value) -> Value {
    let mut result = json!({
        "format": 1, "column": column, "variant": "a,variant", "date": "2026-01-01", "commit": "abc", "machine": "x86-64",
    });
    result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    result
}

fn ran(column: &str, case: &Value) -> Value {
    let mut case = case.clone();
    case["upstream"] = json!("https://example.com/1");
    result(column, &json!({"version": "Runtime 1", "cases": {"a_bug": case}}))
}

fn keep(folder: &Path, results: &[Value]) {
    for result in results {
        let column = result["column"].as_str().unwrap();
        fs::write(folder.join(format!("{column}.json")), result.to_string()).unwrap();
    }
}

/// The row of the case, cell by cell, with the whole page.
fn page(results: &[Value]) -> (Vec<String>, String) {
    let (repository, run) = (repository(), tempfile::tempdir().unwrap());
    keep(run.path(), results);
    let outcome = run_in(repository.path(), &["page", run.path().to_str().unwrap()]);
    assert_eq!(outcome.code, Some(EQUAL), "{}", outcome.shown());
    let page = fs::read_to_string(repository.path().join("docs/generated/runtimes.md")).unwrap();
    let row = page.lines().find(|line| line.contains("a\\_bug")).unwrap();
    (row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect(), page)
}

/// The releases of ONNX Runtime showed `cases`, oldest first.
fn releases(cases: &[Value; 4]) -> Vec<Value> {
    RELEASES.iter().zip(cases).map(|(column, case)| ran(column, case)).collect()
}

#[test]
fn repaired_bug_names_the_first_release_without_it() {
    let (row, page) = page(&releases(&[diverging(), diverging(), conforming(), conforming()]));
    let title = "[a\\_bug](https://example.com/1)";
    assert_eq!(row, [title, "**wrong-values**", "**wrong-values**", "ok", "ok", "ORT 1.31"]);
    assert!(page.starts_with("# Runtimes\n"), "{page}");
}

#[test]
fn bug_that_comes_back_is_not_only_repaired() {
    let (row, _) = page(&releases(&[diverging(), conforming(), conforming(), diverging()]));
    assert_eq!(row[5], "ORT 1.22, new in ORT 1.32");
}

#[test]
fn releases_that_do_not_support_the_case_repair_nothing() {
    let unsupported = json!({"shows": "unsupported", "rule": "a-rule"});
    let (row, page) = page(&releases(&[diverging(), unsupported.clone(), unsupported.clone(), unsupported]));
    assert_eq!((row[2].as_str(), row[5].as_str()), ("unsupported 1", ""));
    assert!(page.contains("1. `a-rule`"), "{page}");
}

#[test]
fn results_of_a_gpu_join_those_that_are_stored() {
    let (repository, run) = (repository(), tempfile::tempdir().unwrap());
    let stored = repository.path().join("docs/generated/runtimes");
    fs::create_dir_all(&stored).unwrap();
    keep(&stored, &[ran("tract", &conforming()), ran("trt-8.6.0", &conforming())]);
    keep(run.path(), &[ran("ort-cuda", &diverging()), result("trt-8.6.0", &json!({"failed": "no GPU"}))]);
    let outcome = run_in(repository.path(), &["page", run.path().to_str().unwrap()]);
    assert_eq!(outcome.code, Some(EQUAL), "{}", outcome.shown());
    assert!(outcome.stderr.contains("since it did not run: no GPU"), "{}", outcome.stderr);
    let page = fs::read_to_string(repository.path().join("docs/generated/runtimes.md")).unwrap();
    let (without, with) = page.split_once("## On a GPU").unwrap();
    assert!(without.contains("| reported | tract | repaired |"), "{page}");
    assert!(with.contains("| reported | ORT CUDA | TRT 8.6.0 | repaired |"), "{page}");
}

#[test]
fn single_case_runs_on_a_runtime() {
    let (repository, out) = (repository(), tempfile::tempdir().unwrap());
    let case = golden().join("catalogue/torchtrt-2507-deconv-cout");
    let [out, case] = [out.path(), &case].map(|path| path.to_str().unwrap());
    let arguments =
        ["run", env!("CARGO_BIN_EXE_twinfer-under-test"), out, "--columns", "ort-1.31", "--cases", case];
    let outcome = run_in(repository.path(), &arguments);
    assert_eq!(outcome.code, Some(EQUAL), "{}", outcome.shown());
    let result = fs::read_to_string(Path::new(out).join("ort-1.31.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["cases"]["torchtrt-2507-deconv-cout"]["shows"], "ok", "{result}");
}

#[test]
fn cases_are_added_to_a_column_of_the_same_version() {
    let (repository, run) = (repository(), tempfile::tempdir().unwrap());
    let stored = repository.path().join("docs/generated/runtimes");
    fs::create_dir_all(&stored).unwrap();
    let of_version = |version: &str, case: &str| {
        let cases = json!({case: diverging(), format!("{case}_still"): diverging()});
        result("tract", &json!({"version": version, "cases": cases}))
    };
    let added = |version: &str| {
        let mut added = of_version(version, "newer");
        added["adds"] = json!(true);
        added["commit"] = json!("def");
        added
    };
    let page = || {
        let outcome = run_in(repository.path(), &["page", run.path().to_str().unwrap()]);
        (outcome.code, fs::read_to_string(repository.path().join("docs/generated/runtimes.md")).unwrap())
    };
    keep(&stored, &[of_version("Runtime 1", "older")]);
    keep(run.path(), &[added("Runtime 2")]);
    assert_eq!(page().0, Some(UNUSABLE));
    keep(run.path(), &[added("Runtime 1")]);
    let (code, page) = page();
    assert_eq!(code, Some(EQUAL));
    assert!(
        page.contains("| older | **wrong-values** |") && page.contains("| newer | **wrong-values** |"),
        "{page}"
    );
    assert!(page.contains("| abc, def (newer), def (newer\\_still) | 2026-01-01 |"), "{page}");
}

#[test]
fn runtime_that_did_not_run_has_its_reason_below() {
    let failed = result("ort-1.17", &json!({"failed": "it is not installed"}));
    let (row, page) = page(&[failed, ran("ort-1.22", &conforming())]);
    assert_eq!(row.len(), 3);
    assert!(page.contains("- ORT 1.17 (`ort:cpu,version=1.17`): it is not installed\n"), "{page}");
    assert!(page.contains("- ORT CUDA (`ort:cuda`): needs a GPU; not measured yet\n"), "{page}");
}

#[test]
fn results_of_another_format_are_refused() {
    let (repository, run) = (repository(), tempfile::tempdir().unwrap());
    keep(run.path(), &[json!({"format": 0, "column": "tract"})]);
    let outcome = run_in(repository.path(), &["page", run.path().to_str().unwrap()]);
    assert_eq!(outcome.code, Some(UNUSABLE), "{}", outcome.shown());
}

/// What the executable prints in place of `twinfer check`.
fn check_printing(text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("twinfer");
    fs::write(&program, format!("#!/bin/sh\ncat <<'END'\n{text}\nEND\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap().to_owned();
    (folder, program)
}

#[test]
fn what_check_says_becomes_a_cell() {
    let answer = |stage: &str, ended: &str, verdict: Value| json!([{"stage": stage, "ended": ended, "verdict": verdict}]);
    let wrong = json!({"kind": "wrong-values"});
    let cases = json!([
        {"name": "ran", "answers": answer("execute", "ok", json!("conforms"))},
        {"name": "built", "answers": answer("build", "ok", json!("conforms"))},
        {"name": "parsed", "answers": answer("parse", "ok", json!("conforms"))},
        {"name": "refused", "answers": answer("parse", "rejected", json!("conforms"))},
        {"name": "wrong", "answers": answer("execute", "ok", json!({"diverges": [wrong, wrong]}))},
        {"name": "ruled", "answers": answer("parse", "rejected", json!({"unsupported": "a-rule"}))},
        {"name": "no_graph", "answers": []},
    ]);
    let report = json!({"variants": [{"variant": "tract", "version": "tract 1"}], "cases": cases});
    let ((_folder, program), run) = (check_printing(&report.to_string()), tempfile::tempdir().unwrap());
    let out = run.path().to_str().unwrap();
    let outcome = run_in(run.path(), &["run", &program, out, "--columns", "tract", "--commit", "abc"]);
    assert_eq!(outcome.code, Some(EQUAL), "{}", outcome.shown());
    let kept = fs::read_to_string(run.path().join("tract.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let shows = |name: &str| kept["cases"][name]["shows"].as_str().unwrap().to_owned();
    let words = ["ran", "built", "parsed", "refused", "wrong", "ruled", "no_graph"].map(shows);
    assert_eq!(words, ["ok", "built", "parsed", "refused", "wrong-values", "unsupported", "-"]);
    assert_eq!((&kept["cases"]["ruled"]["rule"], &kept["commit"]), (&json!("a-rule"), &json!("abc")));
}

#[test]
fn executable_that_says_nothing_is_an_error() {
    let ((_folder, program), run) = (check_printing("no report"), tempfile::tempdir().unwrap());
    let out = run.path().to_str().unwrap();
    let outcome = run_in(run.path(), &["run", &program, out, "--columns", "tract"]);
    assert_eq!(outcome.code, Some(NOTHING), "{}", outcome.shown());
    assert_eq!(run_in(run.path(), &["run", &program, out, "--columns", "none"]).code, Some(UNUSABLE));
}
