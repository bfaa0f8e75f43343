//! Escalation from ONNX Runtime without graph optimizations to ONNX Runtime with them.

use serde_json::Value;

use crate::{
    fuzz::{findings, fuzz, journal},
    twinfer,
};

const CAMPAIGN: [&str; 12] = [
    "--backends",
    "golden,ort:cpu,opt=off",
    "--family",
    "qdq-conv",
    "--distribution",
    "baseline",
    "--seed",
    "3",
    "--no-minimize",
    "--ladder",
    "1/2",
    "--all",
];

#[test]
fn optimizer_bugs_are_found_by_escalation() {
    let out = tempfile::tempdir().unwrap();
    let outcome = fuzz(out.path(), &[&CAMPAIGN[..], &["--cases", "400"]].concat());
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("ladder 1/2: suspicious cases and 1 in 2"), "{}", outcome.stdout);
    for bug in ["scale-along-axis-0", "bias-in-product-steps"] {
        let found = findings(out.path());
        assert!(found.iter().any(|name| name.contains(bug)), "{bug} is not among {found:#?}");
    }
    let report = twinfer(&["report", out.path().to_str().unwrap(), "--format", "json"]).run();
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["run"]["ladder"], "1/2");
    let variants = report["summary"]["variants"].as_array().unwrap();
    let names: Vec<_> = variants.iter().map(|variant| variant["variant"].as_str().unwrap()).collect();
    assert_eq!(names, ["ort:cpu,opt=off", "ort:cpu,opt=basic", "ort:cpu,opt=all"]);
    assert_eq!(variants[0]["divergences"], Value::Object(serde_json::Map::new()));
    assert!(variants[2]["first_seen"]["wrong-values"].as_u64() > Some(0), "{}", variants[2]);
    let escalated =
        journal(out.path()).iter().filter(|one| one["variants"].as_array().unwrap().len() == 3).count();
    assert!((120..280).contains(&escalated), "{escalated} of 400 cases were escalated");
}

#[test]
fn ladder_without_rungs_or_invalid_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    for (arguments, error) in [
        (
            ["--backends", "ort:cpu", "--ladder", "10%"],
            "none of the backends has a higher optimization level",
        ),
        (["--backends", "ort:cpu,opt=off", "--ladder", "10"], "is not a ladder: give a share"),
    ] {
        let outcome = fuzz(out.path(), &arguments);
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains(error), "{}", outcome.stderr);
    }
}
