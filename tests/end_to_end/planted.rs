//! Bugs that are generated from a description of the operators, and not from golden: `tests/planted`.

use std::{fs, path::Path};

use twinfer_case::{Finding, Kind};
use twinfer_prerequisites::has_python_with;
use twinfer_tests::{Outcome, no_findings};

use crate::twinfer;

/// Places in `tests/planted/bugs.json`, of six operators.
const BUGS: [u32; 10] = [0, 2, 3, 8, 9, 16, 17, 31, 45, 52];

/// Enough for the first case that shows each of these bugs.
const CASES_WITH_BUGS: &str = "12";

const CASES_WITHOUT: &str = "400";

fn planted(bug: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("planted/adapter.py");
    format!("external:python3 {} --bug {bug}", script.display())
}

/// A campaign, and its findings; `None` if there is no Python that has what the adapter needs.
fn fuzz(subjects: &[String], cases: &str) -> Option<(Outcome, Vec<Finding>)> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let outcome = fuzz_into(&out, subjects, cases)?;
    Some((outcome, findings(&out)))
}

/// A campaign with its run in `out` that minimizes nothing; `None` if there is no Python that has what the adapter needs.
fn fuzz_into(out: &Path, subjects: &[String], cases: &str) -> Option<Outcome> {
    fuzz_with(out, subjects, &["--cases", cases, "--no-minimize"])
}

fn fuzz_with(out: &Path, subjects: &[String], options: &[&str]) -> Option<Outcome> {
    if !has_python_with("numpy") {
        return None;
    }
    let backends = format!("golden,{}", subjects.join(","));
    let budget = ["fuzz", "--trust", "--jobs", "1", "--seed", "22"];
    let families = ["--family", "conv,deconv,qdq-conv,qdq-deconv,block", "--distribution", "baseline"];
    let others = ["--backends", &backends, "--known", no_findings(), "--out", out.to_str().unwrap()];
    Some(twinfer(&[&budget[..], options, &families, &others].concat()).run())
}

/// The findings of a run.
pub fn findings(run: &Path) -> Vec<Finding> {
    let Ok(entries) = fs::read_dir(run.join("findings")) else { return Vec::new() };
    let folders = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let stored = folders.map(|folder| fs::read(folder.join("finding.json")).unwrap());
    stored.map(|bytes| serde_json::from_slice(&bytes).unwrap()).collect()
}

#[test]
fn planted_bugs_are_found() {
    let buggy = BUGS.map(|bug| planted(&bug.to_string()));
    let Some((outcome, findings)) = fuzz(&buggy, CASES_WITH_BUGS) else { return };
    let is_missed = |bug: &&String| {
        let variant = bug.parse().unwrap();
        !findings.iter().any(|finding| finding.is_seen_in(&variant))
    };
    let missed: Vec<_> = buggy.iter().filter(is_missed).collect();
    assert!(missed.is_empty(), "not found: {missed:?}\n{}", outcome.shown());
}

#[test]
fn description_without_a_bug_conforms() {
    let Some((outcome, findings)) = fuzz(&[planted("none")], CASES_WITHOUT) else { return };
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(findings.is_empty(), "{}", outcome.shown());
}

#[test]
fn planted_bug_is_explained_by_an_edit() {
    // the mean of BatchNormalization loses its sign if there are 2 spatial axes
    const EDIT: &str = "batchnormalization-mean-absolute";
    const CLAUSE: &str = "the mean of BatchNormalization is replaced by its absolute value";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let Some(outcome) = fuzz_with(&out, &[planted("31")], &["--cases", "60"]) else { return };
    let findings = findings(&out);
    let [finding] = &findings[..] else { panic!("{}", outcome.shown()) };
    let trigger = finding.trigger.as_ref().map(twinfer_case::Trigger::condition);
    assert_eq!(trigger.as_deref(), Some("BatchNormalization where spatial axes = 2"));
    let explained = finding.divergences.iter().filter_map(|divergence| divergence.diagnosis.as_ref());
    let mutants: Vec<_> = explained.flat_map(|diagnosis| &diagnosis.mutants).collect();
    let named: Vec<_> = mutants.iter().map(|one| (one.name.as_str(), one.clause.as_str())).collect();
    assert_eq!(named, [(EDIT, CLAUSE)], "{}", outcome.shown());
}

#[test]
fn values_that_hide_a_planted_bug_do_not_mislead_its_trigger() {
    // the difference to the zero point wraps around in 8 bits if there is one scale, which small integers do not show
    const CASE: [&str; 4] = ["--cases", "1", "--shard", "9/1000"];
    const EDIT: &str = "dequantizelinear-difference-wrapped";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let Some(outcome) = fuzz_with(&out, &[planted("52")], &CASE) else { return };
    let findings = findings(&out);
    let [finding] = &findings[..] else { panic!("{}", outcome.shown()) };
    let trigger = finding.trigger.as_ref().map(twinfer_case::Trigger::condition);
    assert_eq!(trigger.as_deref(), Some("DequantizeLinear where number of scales = 1"));
    assert_eq!(finding.diagnosis, [EDIT], "{}", outcome.shown());
}

#[test]
fn node_that_is_wrong_alone_refutes_what_explains_its_case() {
    // the last of two inputs of Concat is rounded to FLOAT16: behind a Conv, that looks like sums in FLOAT16
    const CASE: [&str; 4] = ["--cases", "1", "--shard", "934/1000"];
    const EDIT: &str = "concat-second-input-in-half";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let Some(outcome) = fuzz_with(&out, &[planted("146")], &CASE) else { return };
    let findings = findings(&out);
    let [finding] = &findings[..] else { panic!("{}", outcome.shown()) };
    assert!(finding.graph.starts_with("Concat("), "{}", finding.graph);
    assert_eq!(finding.after.nodes, 1);
    assert!(finding.diagnosis.iter().any(|name| name == EDIT), "{:?}", finding.diagnosis);
}

#[test]
fn explain_tells_when_a_planted_bug_shows() {
    const WHEN: &str = "Conv where group > 1 and input channels are odd";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let Some(_) = fuzz_into(&out, &[planted("3")], "200") else { return };
    assert!(findings(&out).iter().all(|finding| finding.trigger.is_none()));
    let refused = twinfer(&["explain", out.to_str().unwrap()]).run();
    assert_eq!(refused.code, Some(2), "{}", refused.shown());
    let explained = twinfer(&["explain", out.to_str().unwrap(), "--trust"]).run();
    assert_eq!(explained.code, Some(0), "{}", explained.shown());
    assert!(explained.stdout.contains(&format!("trigger: {WHEN}: ")), "{}", explained.shown());
    assert!(
        explained.stdout.contains(&format!("may be one bug: wrong-values, {WHEN}\n")),
        "{}",
        explained.shown()
    );
    let told = |finding: &Finding| finding.trigger.as_ref().is_some_and(|one| one.condition() == WHEN);
    // a case that is not minimized may have another operator that the experiments take for the cause
    let findings = findings(&out);
    let told = findings.iter().filter(|finding| told(finding)).count();
    assert!(2 * told > findings.len(), "{}", explained.shown());
}

#[test]
fn finding_that_needs_history_is_not_experimented_with() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let Some(_) = fuzz_into(&out, &[planted("3")], "60") else { return };
    for entry in fs::read_dir(out.join("findings")).unwrap() {
        let file = entry.unwrap().path().join("finding.json");
        let Ok(bytes) = fs::read(&file) else { continue };
        let finding: Finding = serde_json::from_slice(&bytes).unwrap();
        let dependent = Finding { kind: Kind::StateDependent, ..finding };
        fs::write(file, serde_json::to_vec(&dependent).unwrap()).unwrap();
    }
    let explained = twinfer(&["explain", out.to_str().unwrap(), "--trust"]).run();
    assert_eq!(explained.code, Some(0), "{}", explained.shown());
    assert!(
        explained.stdout.contains("there are no experiments for state-dependent"),
        "{}",
        explained.shown()
    );
}
