//! `fuzz --resume`, with the settings of the run and with others.

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;
use twinfer_tests::Outcome;

use crate::{
    fuzz::{cut_journal, findings, fuzz, journal},
    twinfer,
};

const CAMPAIGN: [&str; 11] = [
    "--distribution",
    "baseline",
    "--backends",
    "ort:cpu,opt=off",
    "--family",
    "deconv,invalid",
    "--seed",
    "20",
    "--no-minimize",
    "--shard",
    "1/2",
];

/// A campaign of so many cases.
fn run(cases: &str) -> TempDir {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &[&CAMPAIGN[..], &["--cases", cases]].concat());
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
    out
}

fn resume(out: &Path, options: &[&str]) -> Outcome {
    let command = ["fuzz", "--resume", "--out", out.to_str().unwrap()];
    // a folder with other defaults
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(
        elsewhere.path().join("twinfer.toml"),
        "seed = 99\ndistribution = \"full\"\nbackends = \"ort:cpu\"\nworker-processes = 50\n",
    )
    .unwrap();
    twinfer(&[&command[..], options].concat()).within(elsewhere.path()).run()
}

fn info(out: &Path) -> Value {
    serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap()
}

fn edit_info(out: &Path, pointer: &str, value: Value) {
    let mut run = info(out);
    *run.pointer_mut(pointer).unwrap() = value;
    fs::write(out.join("run.json"), run.to_string()).unwrap();
}

#[test]
fn resume_alone_goes_on_with_the_recorded_settings() {
    let (whole, cut) = (run("30"), run("30"));
    cut_journal(cut.path(), 6000);
    assert!(journal_lines(cut.path()) < 30);
    let resumed = resume(cut.path(), &[]);
    assert!(matches!(resumed.code, Some(0 | 1)), "{}", resumed.shown());
    assert_eq!(journal(cut.path()), journal(whole.path()));
    assert_eq!(findings(cut.path()), findings(whole.path()));
    let longer = resume(cut.path(), &["--cases", "33"]);
    assert!(matches!(longer.code, Some(0 | 1)), "{}", longer.shown());
    assert_eq!(journal(cut.path()).len(), 33);
    let run = info(cut.path());
    assert_eq!(run["budget"]["cases"], 33);
    assert_eq!(run["resumed"][1]["cases"], 30);
}

/// The complete lines of a journal.
fn journal_lines(out: &Path) -> usize {
    let text = fs::read(out.join("journal.jsonl")).unwrap();
    text.split(|byte| *byte == b'\n').count() - 1
}

#[test]
fn resume_alone_keeps_the_recorded_limits() {
    let out = tempfile::tempdir().unwrap();
    let limits = ["--worker-memory", "3GiB", "--worker-processes", "99", "--worker-disk", "1GiB"];
    let deadlines = ["--deadline", "build=5m,start=90s"];
    let campaign = [&CAMPAIGN[..], &limits, &deadlines, &["--cases", "2"]].concat();
    assert!(matches!(fuzz(out.path(), &campaign).code, Some(0 | 1)));
    let resumed = resume(out.path(), &["--cases", "4"]);
    assert!(matches!(resumed.code, Some(0 | 1)), "{}", resumed.shown());
    let recorded = serde_json::json!({"memory": 3_u64 << 30, "processes": 99, "disk": 1 << 30});
    assert_eq!(info(out.path())["settings"]["limits"], recorded);
    let deadlines = &info(out.path())["settings"]["deadlines"];
    assert_eq!([&deadlines["build"], &deadlines["start"], &deadlines["parse"]], [300_000, 90_000, 30_000]);
}

#[test]
fn resume_with_other_settings_names_each() {
    let out = run("4");
    let refused = |options: &[&str], difference: &str| {
        let outcome = resume(out.path(), &[&["--cases", "6"], options].concat());
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains(difference), "{difference}: {}", outcome.shown());
    };
    refused(&["--seed", "9"], "seed: 20, now 9");
    refused(&["--distribution", "full"], "distribution: baseline, now full");
    refused(&["--shard", "0/2"], "shard: 1/2, now 0/2");
    refused(&["--family", "conv"], "families: deconv,invalid, now conv");
    refused(&["--backends", "ort:cpu"], "now with ort:cpu; now without ort:cpu,opt=off: give");
    refused(&["--known", twinfer_tests::golden().join("cases").to_str().unwrap()], "known: ");
    refused(&["--worker-processes", "9"], "limits.processes: 256, now 9");
    refused(&["--worker-memory", "1GiB"], "limits.memory: none, now 1073741824");
    refused(&["--deadline", "build=5m"], "deadlines.build: 120000, now 300000");
    edit_info(out.path(), "/settings/minimize", true.into());
    refused(&["--no-minimize"], "minimize: true, now false");
    edit_info(out.path(), "/settings/minimize", false.into());
    edit_info(out.path(), "/libraries/0/files/0/sha256", "0".repeat(64).into());
    refused(&[], "libraries.onnxruntime");
    refused(&[], "sha256");
    edit_info(out.path(), "/twinfer", "0.0.1".into());
    refused(&[], "twinfer: 0.0.1, now ");
    assert_eq!(journal(out.path()).len(), 4);
}

#[test]
fn merge_refuses_shards_with_other_libraries_and_names_them() {
    let (one, other) = (run("2"), run("2"));
    edit_info(other.path(), "/shard/0", 0.into());
    edit_info(other.path(), "/libraries/0/files/0/sha256", "0".repeat(64).into());
    let out = tempfile::tempdir().unwrap();
    let folders =
        [one.path(), other.path(), &out.path().join("run")].map(|path| path.to_str().unwrap().to_owned());
    let outcome = twinfer(&["merge", &folders[0], &folders[1], "--out", &folders[2]]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("libraries.onnxruntime"), "{}", outcome.shown());
    assert!(!out.path().join("run").exists());
}

#[test]
fn resume_runs_no_command_that_a_run_names() {
    let out = run("2");
    let mark = out.path().join("mark");
    edit_info(out.path(), "/variants/0/variant", format!("external:touch {}", mark.display()).into());
    let outcome = resume(out.path(), &[]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("would run the command"), "{}", outcome.shown());
    assert!(!mark.exists());
}

#[test]
fn resume_without_a_run_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    let outcome = resume(out.path(), &[]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("holds no run"), "{}", outcome.shown());
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

/// The exit code is that of a scheduler's job, which starts the same command until it exits with 0.
#[test]
fn same_command_starts_a_run_and_resumes_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("shard");
    let job = ["--cases", "60", "--resume-or-start", "--exit-zero-on-findings"];
    let job = || fuzz(&out, &[&CAMPAIGN[..], &job].concat());
    let started = job();
    assert!(started.code == Some(0) && started.stdout.contains("bug worth a look"), "{}", started.shown());
    let whole = findings(&out);
    cut_journal(&out, 20);
    let resumed = job();
    assert!(
        resumed.code == Some(0) && resumed.stdout.contains("since it was resumed"),
        "{}",
        resumed.shown()
    );
    assert_eq!(findings(&out), whole);
    let other = fuzz(&out, &["--backends", "ort:cpu", "--cases", "60", "--resume-or-start"]);
    assert_eq!(other.code, Some(2), "{}", other.shown());
}

#[test]
fn backend_that_was_not_compared_is_no_zero_on_findings() {
    let out = tempfile::tempdir().unwrap();
    let options = ["--backends", "ort:cpu", "--family", "invalid", "--cases", "0", "--exit-zero-on-findings"];
    let outcome = fuzz(out.path(), &options);
    assert_eq!(outcome.code, Some(4), "{}", outcome.shown());
}
