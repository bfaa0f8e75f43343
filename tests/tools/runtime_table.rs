//! `runtime-table` says of each case and runtime what happened, and in which release a bug was repaired.

use std::fs;

use serde_json::{Value, json};

use crate::{EQUAL, UNUSABLE, tool};

/// The columns of the tool: four releases of ONNX Runtime, four runtimes with one, four releases of TensorRT-RTX.
const COLUMNS: usize = 12;

/// The report of `check` on a runtime that answered one case.
fn report(answer: &Value) -> Value {
    let topic = json!({"upstream": "https://example.com/1"});
    json!({
        "variants": [{"variant": "ort:cpu", "version": "ONNX Runtime 1.31.1"}],
        "cases": [{"name": "a_bug", "topic": topic, "answers": [answer]}],
    })
}

fn answer(stage: &str, ended: &str, verdict: &Value) -> Value {
    report(&json!({"stage": stage, "ended": ended, "verdict": verdict}))
}

fn conforming() -> Value {
    answer("execute", "ok", &json!("conforms"))
}

fn diverging() -> Value {
    let wrong = json!({"kind": "wrong-values"});
    answer("execute", "ok", &json!({"diverges": [wrong, wrong]}))
}

/// The row of the case, cell by cell, with the whole page.
fn table(reports: &[Value]) -> (Vec<String>, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), json!(reports).to_string()).unwrap();
    let outcome = tool("runtime-table", ["--from".as_ref(), file.path().as_os_str()]);
    assert_eq!(outcome.code, Some(EQUAL), "{}", outcome.shown());
    let row = outcome.stdout.lines().nth(2).unwrap();
    (row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect(), outcome.stdout)
}

/// All runtimes conform but the first ones, which gave `reports`.
fn with(reports: Vec<Value>) -> Vec<Value> {
    reports.into_iter().chain(std::iter::repeat_with(conforming)).take(COLUMNS).collect()
}

#[test]
fn repaired_bug_names_the_first_release_without_it() {
    let (row, _) = table(&with(vec![diverging(), diverging()]));
    assert_eq!(
        row[..5],
        ["[a\\_bug](https://example.com/1)", "**wrong-values**", "**wrong-values**", "ok", "ok"]
    );
    assert_eq!(row[COLUMNS + 1], "ORT 1.31");
}

#[test]
fn bug_that_comes_back_is_not_only_repaired() {
    let (row, _) = table(&with(vec![diverging(), conforming(), conforming(), diverging()]));
    assert_eq!(row[COLUMNS + 1], "ORT 1.22, new in ORT 1.32");
}

#[test]
fn releases_that_do_not_support_the_case_repair_nothing() {
    let unsupported = answer("parse", "rejected", &json!({"unsupported": "a-rule"}));
    let (row, page) = table(&with(vec![diverging(), unsupported.clone(), unsupported.clone(), unsupported]));
    assert_eq!((row[2].as_str(), row[COLUMNS + 1].as_str()), ("unsupported 1", ""));
    assert!(page.contains("1. `a-rule`"), "{page}");
}

#[test]
fn refused_and_built_cases_are_not_shown_as_executed() {
    let conforms = json!("conforms");
    let (row, _) =
        table(&with(vec![answer("parse", "rejected", &conforms), answer("build", "ok", &conforms)]));
    assert_eq!(row[1..3], ["refused", "built"]);
}

#[test]
fn runtime_that_did_not_start_has_its_reason_below() {
    let (row, page) = table(&with(vec![json!({"failed": "it is not installed"})]));
    assert_eq!(row[1], "-");
    assert!(page.ends_with("- ORT 1.17: it is not installed\n"), "{page}");
}

#[test]
fn executable_and_kept_observations_exclude_each_other() {
    let neither: [&str; 0] = [];
    assert_eq!(tool("runtime-table", neither).code, Some(UNUSABLE));
}
