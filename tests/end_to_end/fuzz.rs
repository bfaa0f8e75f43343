//! Campaigns against the real ONNX Runtime, from the command line to the files they leave.

use std::{fs, path::Path};

use serde_json::Value;
use twinfer_tests::{Outcome, no_findings};

use crate::twinfer;

pub fn fuzz(out: &Path, arguments: &[&str]) -> Outcome {
    let out = out.to_str().expect("a temporary path is UTF-8");
    twinfer(&[&["fuzz", "--out", out, "--known", no_findings()], arguments].concat()).run()
}

fn report(out: &Path, format: &str) -> String {
    let outcome = twinfer(&["report", out.to_str().unwrap(), "--format", format]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome.stdout
}

/// The journal without what differs from run to run.
pub fn journal(out: &Path) -> Vec<Value> {
    let text = fs::read_to_string(out.join("journal.jsonl")).unwrap();
    text.lines().map(|line| without_timings(serde_json::from_str(line).unwrap())).collect()
}

fn without_timings(mut record: Value) -> Value {
    for variant in record["variants"].as_array_mut().unwrap() {
        variant.as_object_mut().unwrap().remove("timings");
    }
    record
}

pub fn findings(out: &Path) -> Vec<String> {
    let entries = fs::read_dir(out.join("findings")).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn onnx_runtime_without_graph_optimisations_conforms_on_generated_convolutions() {
    let out = tempfile::tempdir().unwrap();
    let outcome =
        fuzz(out.path(), &["--backends", "golden,ort:cpu,opt=off", "--family", "conv", "--cases", "200"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let report: Value = serde_json::from_str(&report(out.path(), "json")).unwrap();
    assert_eq!(report["summary"]["cases"], 200);
    assert!(report["summary"]["compared"].as_u64() > Some(150), "{}", report["summary"]);
}

#[test]
fn one_job_and_two_come_to_the_same_verdicts_and_findings() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let campaign = ["--backends", "ort:cpu", "--cases", "120", "--seed", "3", "--no-minimize"];
    for (out, jobs) in [(&one, "1"), (&two, "2")] {
        let outcome = fuzz(out.path(), &[&campaign[..], &["--jobs", jobs]].concat());
        assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
    }
    assert_eq!(journal(one.path()), journal(two.path()));
    assert_eq!(findings(one.path()), findings(two.path()));
}

#[test]
fn a_finding_of_an_invalid_graph_that_is_accepted_tells_the_rule_that_it_breaks() {
    let out = tempfile::tempdir().unwrap();
    let outcome =
        fuzz(out.path(), &["--backends", "ort:cpu", "--family", "invalid", "--seed", "20", "--cases", "40"]);
    let folder = out.path().join("findings");
    let of = |name: &String| fs::read(folder.join(name).join("finding.json")).unwrap();
    let mut accepted: Vec<Value> =
        findings(out.path()).iter().map(|name| serde_json::from_slice(&of(name)).unwrap()).collect();
    accepted.retain(|finding| finding["kind"] == "accepts-invalid");
    assert!(!accepted.is_empty(), "{}", outcome.shown());
    for finding in accepted {
        let (graph, detail) =
            (finding["graph"].as_str().unwrap(), finding["divergences"][0]["detail"].as_str());
        let rule = detail.unwrap().strip_prefix("accepted a graph that breaks ").unwrap();
        assert!(graph.starts_with(&format!("breaks {rule}: ")), "{graph}");
        assert!(outcome.stdout.contains(&format!("breaks {rule}: ")), "{}", outcome.stdout);
    }
}

#[test]
fn another_seed_gives_other_cases() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (out, seed) in [(&one, "1"), (&two, "2")] {
        fuzz(out.path(), &["--backends", "ort:cpu", "--family", "conv", "--cases", "5", "--seed", seed]);
    }
    let hashes =
        |out: &Path| journal(out).into_iter().map(|record| record["case"].clone()).collect::<Vec<_>>();
    assert_ne!(hashes(one.path()), hashes(two.path()));
}

#[test]
fn the_shards_of_a_campaign_are_its_cases() {
    let run = |arguments: &[&str]| {
        let out = tempfile::tempdir().unwrap();
        fuzz(
            out.path(),
            &[&["--backends", "ort:cpu", "--family", "conv", "--no-minimize"], arguments].concat(),
        );
        journal(out.path()).into_iter().map(|record| record["case"].to_string()).collect::<Vec<_>>()
    };
    let mut whole = run(&["--cases", "6"]);
    let mut shards =
        [run(&["--cases", "3", "--shard", "0/2"]), run(&["--cases", "3", "--shard", "1/2"])].concat();
    whole.sort();
    shards.sort();
    assert_eq!(whole, shards);
}

#[test]
fn a_run_is_reported_in_every_format() {
    let out = tempfile::tempdir().unwrap();
    fuzz(out.path(), &["--backends", "ort:cpu", "--family", "conv", "--cases", "20"]);
    assert!(report(out.path(), "terminal").contains("20 cases"));
    assert!(report(out.path(), "junit").contains("<testsuite name=\"ort:cpu\""));
    assert!(report(out.path(), "markdown").contains("| ort:cpu |"));
    assert!(report(out.path(), "html").contains("<td>ort:cpu</td>"));
}

#[test]
fn a_run_cut_off_in_the_middle_of_a_line_resumes_to_what_it_would_have_been() {
    let (whole, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let campaign = ["--backends", "ort:cpu", "--seed", "3", "--no-minimize"];
    fuzz(whole.path(), &[&campaign[..], &["--cases", "40"]].concat());
    fuzz(cut.path(), &[&campaign[..], &["--cases", "15"]].concat());
    let path = cut.path().join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 30]).unwrap();
    let resumed = fuzz(cut.path(), &[&campaign[..], &["--cases", "40", "--resume"]].concat());
    assert!(matches!(resumed.code, Some(0 | 1)), "{}", resumed.shown());
    assert_eq!(journal(cut.path()), journal(whole.path()));
    assert_eq!(findings(cut.path()), findings(whole.path()));
    // with their timings: what was done is not done again
    let kept = &text[..text[..text.len() - 30].rfind('\n').unwrap()];
    assert!(fs::read_to_string(&path).unwrap().starts_with(kept));
}

#[test]
fn only_golden_is_nothing_to_compare() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &["--backends", "golden", "--cases", "1"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("name at least one besides golden"), "{}", outcome.stderr);
}

#[test]
fn an_unknown_backend_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    assert_eq!(fuzz(out.path(), &["--backends", "ort:tpu"]).code, Some(2));
}

#[test]
fn known_findings_that_are_not_there_are_wrong_usage() {
    let parent = tempfile::tempdir().unwrap();
    let (out, absent) = (parent.path().join("run"), parent.path().join("absent"));
    let outcome =
        twinfer(&["fuzz", "--known", absent.to_str().unwrap(), "--out", out.to_str().unwrap()]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains(absent.to_str().unwrap()), "{}", outcome.stderr);
    assert!(!out.exists(), "the run was begun");
}

#[test]
fn more_jobs_than_any_machine_has_a_use_for_are_wrong_usage() {
    for command in
        [&["fuzz", "--jobs"][..], &["bench", "--jobs"], &["bench", "--backends=ort:cpu", "--processes"]]
    {
        let outcome = twinfer(&[command, &["1025"]].concat()).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains("give a number from 1 to 1024"), "{}", outcome.stderr);
    }
}

#[test]
fn a_backend_that_does_not_take_its_options_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &["--backends", "ort:cpu,opt=nonsense", "--cases", "1"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    let error = "error: ort:cpu,opt=nonsense: option opt=nonsense: the value is one of off, basic, all\n";
    assert_eq!(outcome.stderr, error);
}

#[test]
fn a_library_that_is_not_there_is_the_environments_fault() {
    let out = tempfile::tempdir().unwrap();
    let outcome =
        fuzz(out.path(), &["--backends", "ort:cpu,lib=/nonexistent/libonnxruntime.so", "--cases", "1"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
    assert!(outcome.stderr.contains("/nonexistent/libonnxruntime.so"), "{}", outcome.stderr);
}

#[test]
fn tensorrt_rtx_parses_and_builds_generated_graphs_on_any_machine() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(
        out.path(),
        &["--backends", "golden,trt-rtx", "--family", "conv", "--cases", "20", "--no-minimize"],
    );
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
    let report: Value = serde_json::from_str(&report(out.path(), "json")).unwrap();
    let stages = &report["summary"]["variants"][0]["stages"];
    let built = ["build", "execute"].iter().filter_map(|stage| stages[stage].as_u64()).sum::<u64>();
    assert!(built > 10, "{}", report["summary"]);
}
