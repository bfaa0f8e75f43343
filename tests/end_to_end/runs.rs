//! Commands on several runs: `merge` and `diff`.

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    fuzz::{cut_journal, findings, fuzz, journal},
    twinfer,
};

/// The options of a campaign in which ONNX Runtime diverges on some cases.
const CAMPAIGN: [&str; 7] =
    ["--backends", "ort:cpu", "--family", "deconv,invalid", "--seed", "20", "--no-minimize"];

fn run(arguments: &[&str]) -> TempDir {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &[&CAMPAIGN[..], arguments].concat());
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
    out
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The hash and verdicts of each case, in order.
fn verdicts(out: &Path) -> Vec<(Value, Value)> {
    journal(out).into_iter().map(|record| (record["case"].clone(), record["variants"].clone())).collect()
}

#[test]
fn merged_shards_equal_campaign() {
    let whole = run(&["--cases", "80"]);
    let shards = ["2/4", "0/4", "3/4", "1/4"].map(|shard| run(&["--cases", "20", "--shard", shard]));
    let merged = tempfile::tempdir().unwrap();
    let out = merged.path().join("run");
    let paths = shards.each_ref().map(|shard| text(shard.path()));
    let outcome = twinfer(&[&["merge"], &paths[..], &["--out", text(&out)]].concat()).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("80 cases"), "{}", outcome.stdout);
    assert_eq!(verdicts(&out), verdicts(whole.path()));
    assert_eq!(findings(&out), findings(whole.path()));
    let reported = twinfer(&["report", text(&out)]).run();
    assert_eq!(reported.stdout, outcome.stdout);
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("Share of cases that differ"));
}

#[test]
fn merged_shards_of_quantized_graphs_keep_verdicts() {
    let campaign = [
        "--backends",
        "golden,ort:cpu,opt=off,ort:cpu,opt=all",
        "--family",
        "qdq-conv,qdq-deconv,block,invalid",
        "--distribution",
        "baseline",
        "--seed",
        "5",
        "--no-minimize",
    ];
    let run = |more: &[&str]| {
        let out = tempfile::tempdir().unwrap();
        let outcome = fuzz(out.path(), &[&campaign[..], more].concat());
        assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
        out
    };
    let whole = run(&["--cases", "160"]);
    let shards = ["0/4", "1/4", "2/4", "3/4"].map(|shard| run(&["--cases", "40", "--shard", shard]));
    let merged = tempfile::tempdir().unwrap();
    let out = merged.path().join("run");
    let paths = shards.each_ref().map(|shard| text(shard.path()));
    let outcome = twinfer(&[&["merge"], &paths[..], &["--out", text(&out)]].concat()).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(verdicts(&out) == verdicts(whole.path()), "the verdicts differ");
    // each shard may have a finding, the merged run has it once
    let mut found = shards.each_ref().map(|shard| findings(shard.path())).concat();
    found.sort();
    found.dedup();
    assert_eq!(findings(&out), found);
}

#[test]
fn truncated_or_missing_shard_loses_only_its_cases() {
    let shards = ["0/3", "1/3"].map(|shard| run(&["--cases", "6", "--shard", shard]));
    cut_journal(shards[1].path(), 9);
    let merged = tempfile::tempdir().unwrap();
    let out = merged.path().join("run");
    let paths = shards.each_ref().map(|shard| text(shard.path()));
    let outcome = twinfer(&[&["merge"], &paths[..], &["--out", text(&out)]].concat()).run();
    assert!(outcome.stdout.contains("11 cases"), "{}", outcome.shown());
    assert!(outcome.stderr.contains("shard 2 was not given"), "{}", outcome.stderr);
}

#[test]
fn unrelated_runs_are_not_merged() {
    let shards = ["0/2", "0/2"].map(|shard| run(&["--cases", "2", "--shard", shard]));
    let out = tempfile::tempdir().unwrap();
    let paths = shards.each_ref().map(|shard| text(shard.path()));
    let merge = |to: &Path| twinfer(&["merge", paths[0], paths[1], "--out", text(to)]).run();
    let outcome = merge(&out.path().join("run"));
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert_eq!(merge(shards[0].path()).code, Some(2), "a folder with a run in it is not overwritten");
}

#[test]
fn diff_lists_new_gone_and_not_run_findings() {
    let (earlier, later) = (run(&["--cases", "60"]), run(&["--cases", "60"]));
    let diff =
        |one: &TempDir, other: &TempDir| twinfer(&["diff", text(one.path()), text(other.path())]).run();
    let same = diff(&earlier, &later);
    assert_eq!(same.code, Some(0), "{}", same.shown());
    assert!(same.stdout.contains("same findings in both runs"), "{}", same.stdout);
    let finding = findings(later.path()).first().cloned().expect("a finding");
    remove_finding(later.path(), &finding);
    let gone = diff(&earlier, &later);
    assert_eq!(gone.code, Some(0), "{}", gone.shown());
    assert!(gone.stdout.contains(&format!("gone       {finding}")), "{}", gone.stdout);
    let new = diff(&later, &earlier);
    assert_eq!(new.code, Some(1), "{}", new.shown());
    assert!(new.stdout.contains(&format!("new        {finding}")), "{}", new.stdout);
    let short = run(&["--cases", "1"]);
    assert!(diff(&earlier, &short).stdout.contains("not run    by the later run: "));
    let longer = diff(&short, &earlier);
    assert_eq!(longer.code, Some(0), "cases that the earlier run lacks show nothing new\n{}", longer.shown());
    assert!(longer.stdout.contains("not run    by the earlier run: ") && !longer.stdout.contains("new   "));
}

/// Removes a finding from a run directory, whose format becomes that before lines had checksums.
fn remove_finding(run: &Path, finding: &str) {
    fs::remove_dir_all(run.join("findings").join(finding)).unwrap();
    for (name, format, earlier) in
        [("run.json", "\"format\": 4", "\"format\": 3"), ("journal.jsonl", "\"format\":4", "\"format\":3")]
    {
        let path = run.join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(format), "{text}");
        fs::write(&path, text.replace(format, earlier).replace(&format!("\"{finding}\""), "")).unwrap();
    }
}

#[test]
fn run_in_place_of_a_finding_is_an_error_that_names_one() {
    let run = run(&["--cases", "60"]);
    let name = findings(run.path()).first().cloned().expect("a finding");
    let out = tempfile::tempdir().unwrap();
    for arguments in [&["minimize"][..], &["replay"], &["repro", "--out", text(out.path())]] {
        let outcome = twinfer(&[arguments, &[text(run.path())]].concat()).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains("is a run: give one of its findings"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&name), "{}", outcome.stderr);
    }
}
