//! What commands print besides their result, completions and manual pages.

use std::fs;

use crate::twinfer;

const FUZZ: [&str; 7] = ["fuzz", "--backends", "golden,ort:cpu,opt=off", "--family", "conv", "--cases", "20"];

#[test]
fn quiet_command_prints_its_result_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let quiet = twinfer(&[&FUZZ[..], &["--quiet", "--out", &out("quiet")]].concat()).run();
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    assert!(quiet.stdout.contains("20 cases"), "{}", quiet.stdout);
    let unshown = twinfer(&[&FUZZ[..], &["--progress", "none", "--out", &out("unshown")]].concat()).run();
    assert!(unshown.stderr.contains("run directory: "), "{}", unshown.stderr);
    assert!(!unshown.stderr.contains("cases/s"), "{}", unshown.stderr);
    let refused = twinfer(&["--quiet", "report", &out("none")]).run();
    assert!(refused.code == Some(2) && refused.stderr.starts_with("error: "), "{}", refused.stderr);
}

#[test]
fn colors_are_those_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run").to_str().unwrap().to_owned();
    assert_eq!(twinfer(&[&FUZZ[..], &["--out", &run]].concat()).run().code, Some(0));
    for (color, is_colored) in [("always", true), ("never", false), ("auto", false)] {
        let report = twinfer(&["report", &run, "--color", color]).run().stdout;
        assert_eq!(report.contains('\u{1b}'), is_colored, "{color}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let script = twinfer(&["completions", "bash"]).run();
    assert!(script.code == Some(0) && script.stdout.contains("--sample-options"), "{}", script.stdout);
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert_eq!(twinfer(&["man", "--out", pages.to_str().unwrap()]).run().code, Some(0));
    for page in ["twinfer.1", "twinfer-fuzz.1", "twinfer-backends-install.1"] {
        assert!(fs::read_to_string(pages.join(page)).unwrap().contains(".SH NAME"), "{page}");
    }
    assert!(!pages.join("twinfer-worker.1").exists(), "hidden commands have no page");
}
