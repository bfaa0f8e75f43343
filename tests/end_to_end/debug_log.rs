//! The debug log that `--log` writes into a run directory.

use std::{fs, path::Path};

use twinfer_tests::no_findings;

use crate::{fuzz::fuzz, twinfer};

const CAMPAIGN: [&str; 6] = ["--backends", "ort:cpu,opt=off", "--family", "conv", "--cases", "20"];

fn lines(out: &Path) -> Vec<String> {
    let text = fs::read_to_string(out.join("debug.log")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The process id of the first line with `event`.
fn pid_of<'a>(lines: &'a [String], event: &str) -> &'a str {
    let line =
        lines.iter().find(|line| line.contains(event)).unwrap_or_else(|| panic!("no {event}: {lines:#?}"));
    let (_, pid) = line.split_once("pid=").unwrap();
    pid.split(|character: char| !character.is_ascii_digit()).next().unwrap()
}

#[test]
fn fuzz_logs_worker_starts_and_the_end_of_the_run() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &CAMPAIGN);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let lines = lines(out.path());
    assert_eq!(pid_of(&lines, "worker started"), pid_of(&lines, "step=\"load library\""), "{lines:#?}");
    let end = lines.iter().find(|line| line.contains("campaign finished")).expect("the run has an end");
    assert!(end.contains("cases=20"), "{end}");
    assert!(
        !lines.iter().any(|line| line.contains(" TRACE ")),
        "what happens per case is not logged by default"
    );
    assert!(lines.iter().all(|line| line.starts_with("20") && line.contains("Z ")), "{lines:#?}");
}

#[test]
fn fuzz_at_level_trace_logs_every_case() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &[&CAMPAIGN[..], &["--log", "trace"]].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let lines = lines(out.path());
    for event in ["case recorded case=19", "case sent"] {
        assert!(lines.iter().any(|line| line.contains(event)), "no {event}: {lines:#?}");
    }
}

#[test]
fn fuzz_with_log_off_writes_no_log() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &[&CAMPAIGN[..], &["--log", "off"]].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(!out.path().join("debug.log").exists());
}

#[test]
fn fuzz_that_does_not_start_leaves_no_run_directory() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("run");
    let outcome = fuzz(&out, &["--backends", "external:/does/not/exist", "--cases", "5"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
    assert!(!out.exists());
}

#[test]
fn resumed_run_appends_to_its_log() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    assert_eq!(fuzz(out.path(), &CAMPAIGN).code, Some(0));
    let resume = ["--backends", "ort:cpu,opt=off", "--family", "conv", "--cases", "30", "--resume"];
    let known = ["fuzz", "--out", folder, "--known", no_findings()];
    let outcome = twinfer(&[&known[..], &resume].concat()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let ends = lines(out.path()).into_iter().filter(|line| line.contains("campaign finished")).count();
    assert_eq!(ends, 2);
}

#[test]
fn check_logs_only_on_request() {
    let (quiet, logged) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let generated = tempfile::tempdir().unwrap();
    let folder = generated.path().to_str().unwrap();
    let outcome = twinfer(&["generate", "--family", "conv", "--cases", "1", "--out", folder]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let case = fs::read_dir(generated.path()).unwrap().next().unwrap().unwrap().path();
    let check = ["check", case.to_str().unwrap(), "--backends", "ort:cpu,opt=off", "--out"];
    let outcome = twinfer(&[&check[..], &[quiet.path().to_str().unwrap()]].concat()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(!quiet.path().join("debug.log").exists());
    let outcome = twinfer(&[&check[..], &[logged.path().to_str().unwrap(), "--log", "debug"]].concat()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(outcome.stderr.contains("debug.log"), "{}", outcome.stderr);
    pid_of(&lines(logged.path()), "worker started");
}
