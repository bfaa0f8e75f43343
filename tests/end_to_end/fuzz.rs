//! Campaigns with the installed ONNX Runtime, from the command line to the files that they write.

use std::{fs, path::Path};

use serde_json::Value;
use twinfer_store::{Records, read_run};
use twinfer_tests::{Outcome, no_findings};

use crate::twinfer;

/// Runs `twinfer fuzz` into `out` with no known findings.
pub fn fuzz(out: &Path, arguments: &[&str]) -> Outcome {
    let out = out.to_str().expect("a temporary path is UTF-8");
    twinfer(&[&["fuzz", "--out", out, "--known", no_findings()], arguments].concat()).run()
}

fn report(out: &Path, format: &str) -> String {
    let outcome = twinfer(&["report", out.to_str().unwrap(), "--format", format]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome.stdout
}

/// The cases of a run in their order, as they were last decided, without timings.
pub fn journal(out: &Path) -> Vec<Value> {
    let records = Records::open(out, &read_run(out).unwrap()).unwrap();
    records.map(|record| without_timings(serde_json::to_value(record.unwrap()).unwrap())).collect()
}

/// Leaves a run directory as if its campaign had been killed `bytes` before the end of the journal.
pub fn cut_journal(out: &Path, bytes: usize) {
    let path = out.join("journal.jsonl");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - bytes]).unwrap();
    let path = out.join("run.json");
    let mut run: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    run.as_object_mut().unwrap().remove("journal").unwrap();
    fs::write(path, run.to_string()).unwrap();
}

fn without_timings(mut record: Value) -> Value {
    for variant in record["variants"].as_array_mut().unwrap() {
        variant.as_object_mut().unwrap().remove("timings");
    }
    record
}

/// The folder names of the findings in a run directory, sorted.
pub fn findings(out: &Path) -> Vec<String> {
    let entries = fs::read_dir(out.join("findings")).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn unoptimized_onnx_runtime_conforms_on_convolutions() {
    let out = tempfile::tempdir().unwrap();
    let outcome =
        fuzz(out.path(), &["--backends", "golden,ort:cpu,opt=off", "--family", "conv", "--cases", "200"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let report: Value = serde_json::from_str(&report(out.path(), "json")).unwrap();
    assert_eq!(report["summary"]["cases"], 200);
    assert!(report["summary"]["compared"].as_u64() > Some(150), "{}", report["summary"]);
}

#[test]
fn verdicts_and_findings_do_not_depend_on_jobs() {
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
fn accepts_invalid_finding_names_violated_rule() {
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
fn different_seed_gives_different_cases() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (out, seed) in [(&one, "1"), (&two, "2")] {
        fuzz(out.path(), &["--backends", "ort:cpu", "--family", "conv", "--cases", "5", "--seed", seed]);
    }
    let hashes =
        |out: &Path| journal(out).into_iter().map(|record| record["case"].clone()).collect::<Vec<_>>();
    assert_ne!(hashes(one.path()), hashes(two.path()));
}

#[test]
fn shards_together_run_all_cases_of_campaign() {
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
fn stored_run_is_reported_in_every_format() {
    let out = tempfile::tempdir().unwrap();
    fuzz(out.path(), &["--backends", "ort:cpu", "--family", "conv", "--cases", "20"]);
    assert!(report(out.path(), "terminal").contains("20 cases"));
    assert!(report(out.path(), "junit").contains("<testsuite name=\"ort:cpu\""));
    assert!(report(out.path(), "markdown").contains("| ort:cpu |"));
    assert!(report(out.path(), "html").contains("<th scope=\"row\">ort:cpu</th>"));
}

#[test]
fn truncated_journal_resumes_to_same_results() {
    let (whole, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let campaign = ["--backends", "ort:cpu", "--seed", "3", "--no-minimize"];
    fuzz(whole.path(), &[&campaign[..], &["--cases", "40"]].concat());
    fuzz(cut.path(), &[&campaign[..], &["--cases", "15"]].concat());
    let path = cut.path().join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    cut_journal(cut.path(), 30);
    let resumed = fuzz(cut.path(), &[&campaign[..], &["--cases", "40", "--resume"]].concat());
    assert!(matches!(resumed.code, Some(0 | 1)), "{}", resumed.shown());
    assert_eq!(journal(cut.path()), journal(whole.path()));
    assert_eq!(findings(cut.path()), findings(whole.path()));
    // the kept records are equal with their timings, so the cases did not run again
    let kept = &text[..text[..text.len() - 30].rfind('\n').unwrap()];
    assert!(fs::read_to_string(&path).unwrap().starts_with(kept));
}

#[test]
fn golden_alone_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &["--backends", "golden", "--cases", "1"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("no backend to compare with golden"), "{}", outcome.stderr);
}

#[test]
fn unknown_backend_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    assert_eq!(fuzz(out.path(), &["--backends", "ort:tpu"]).code, Some(2));
}

#[test]
fn missing_known_folder_is_wrong_usage() {
    let parent = tempfile::tempdir().unwrap();
    let (out, absent) = (parent.path().join("run"), parent.path().join("absent"));
    let outcome =
        twinfer(&["fuzz", "--known", absent.to_str().unwrap(), "--out", out.to_str().unwrap()]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains(absent.to_str().unwrap()), "{}", outcome.stderr);
    assert!(!out.exists(), "the run was begun");
}

#[test]
fn too_many_jobs_are_wrong_usage() {
    for command in
        [&["fuzz", "--jobs"][..], &["bench", "--jobs"], &["bench", "--backends=ort:cpu", "--processes"]]
    {
        let outcome = twinfer(&[command, &["1025"]].concat()).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains("give a number from 1 to 1024"), "{}", outcome.stderr);
    }
}

#[test]
fn invalid_backend_option_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &["--backends", "ort:cpu,opt=nonsense", "--cases", "1"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    let error = "error: ort:cpu,opt=nonsense: option opt=nonsense: use one of off, basic, all\n";
    assert_eq!(outcome.stderr, error);
}

#[test]
fn missing_library_is_environment_failure() {
    let out = tempfile::tempdir().unwrap();
    let outcome =
        fuzz(out.path(), &["--backends", "ort:cpu,lib=/nonexistent/libonnxruntime.so", "--cases", "1"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
    assert!(outcome.stderr.contains("/nonexistent/libonnxruntime.so"), "{}", outcome.stderr);
}

#[test]
fn tensorrt_rtx_builds_generated_graphs_without_gpu() {
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

#[test]
fn drawn_options_make_variants_that_run_every_case() {
    let out = tempfile::tempdir().unwrap();
    let campaign = ["--backends", "golden,trt-rtx", "--family", "conv", "--cases", "6", "--no-minimize"];
    let outcome = fuzz(out.path(), &[&campaign[..], &["--sample-options", "2", "--seed", "5"]].concat());
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
    assert_eq!(outcome.stderr.matches("drawn: trt-rtx,").count(), 2, "{}", outcome.shown());
    let report: Value = serde_json::from_str(&report(out.path(), "json")).unwrap();
    let variants = report["summary"]["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 3, "{}", report["summary"]);
    for variant in variants {
        assert!(variant["stages"].as_object().unwrap().values().any(|cases| cases.as_u64() > Some(0)));
    }
}
