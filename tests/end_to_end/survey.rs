//! `check` on several cases at once.

use std::{fs, path::Path};

use twinfer_tests::golden;

use crate::twinfer;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder of two cases: the CPU provider of ONNX Runtime has no kernel for the first and runs the second.
fn two_cases() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["rtx-4178-bf16-depthwise", "ort-5368-same-upper-lower-swapped"] {
        let copy = folder.path().join(name);
        fs::create_dir(&copy).unwrap();
        for file in ["case.json", "topic.json"] {
            fs::copy(golden().join("catalogue").join(name).join(file), copy.join(file)).unwrap();
        }
    }
    folder
}

#[test]
fn built_and_refused_cases_are_not_shown_as_executed() {
    let folder = tempfile::tempdir().unwrap();
    let cases = ["--out", text(folder.path()), "--family", "conv,invalid", "--cases", "8"];
    assert_eq!(twinfer(&[&["generate"][..], &cases].concat()).run().code, Some(0));
    let built = format!("{} build", crate::opaque::unchanged());
    let backends = format!("ort:cpu,opt=off,{built}");
    for format in ["terminal", "markdown"] {
        let check = ["check", text(folder.path()), "--backends", &backends, "--format", format];
        let table = twinfer(&check).run().stdout;
        assert!(table.contains("conforms (built, not executed)"), "{table}");
        assert!(table.contains("conforms (rejected in parse)"), "{table}");
        assert!(!table.contains("up to build"), "{table}");
    }
}

#[test]
fn several_cases_are_reported_as_table() {
    let folder = two_cases();
    let outcome = twinfer(&["check", text(folder.path()), "--backends", "golden,ort:cpu,opt=off"]).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    insta::assert_snapshot!(outcome.stdout);
}

#[test]
fn recorded_verdict_is_not_new_and_needs_no_run() {
    let folder = two_cases();
    let check = |arguments: &[&str]| twinfer(&[&["check", text(folder.path())], arguments].concat()).run();
    assert_eq!(check(&["--backends", "ort:cpu", "--record"]).code, Some(1));
    let again = check(&["--backends", "ort:cpu"]);
    assert_eq!(again.code, Some(0), "{}", again.shown());
    let shown = check(&["--recorded", "--format", "markdown"]);
    assert_eq!(shown.code, Some(0), "{}", shown.shown());
    insta::assert_snapshot!(shown.stdout);
    let replayed = twinfer(&["replay", text(&folder.path().join("rtx-4178-bf16-depthwise"))]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.shown());
}

#[test]
fn json_table_contains_every_verdict() {
    let folder = two_cases();
    let outcome = twinfer(&["check", text(folder.path()), "--backends", "ort:cpu", "--format", "json"]).run();
    let survey: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(survey["format"], 1);
    assert_eq!(survey["cases"][0]["answers"][0]["verdict"], "conforms");
    assert_eq!(survey["cases"][1]["answers"][0]["verdict"]["diverges"][0]["kind"], "rejects-valid");
}

#[test]
fn junit_table_or_folder_without_cases_is_wrong_usage() {
    let (folder, empty) = (two_cases(), tempfile::tempdir().unwrap());
    let junit = twinfer(&["check", text(folder.path()), "--recorded", "--format", "junit"]).run();
    assert_eq!(junit.code, Some(2), "{}", junit.shown());
    let nothing = twinfer(&["check", text(empty.path()), "--backends", "ort:cpu"]).run();
    assert_eq!(nothing.code, Some(2), "{}", nothing.shown());
    assert!(nothing.stderr.contains("no case in"), "{}", nothing.stderr);
}

/// `TWINFER_UPDATE=1` regenerates the tables after new observations were recorded.
#[test]
fn documentation_tables_match_recorded_observations() {
    for (page, cases) in [("catalogue.md", "catalogue"), ("topics.md", "cases/topics")] {
        let page = golden().join("../docs/generated").join(page);
        let cases = golden().join(cases);
        let shown = twinfer(&["check", text(&cases), "--recorded", "--format", "markdown"]).run();
        let written = fs::read_to_string(&page).unwrap();
        let table = written.find("\n| reported |").map_or(written.len(), |place| place + 1);
        if std::env::var_os("TWINFER_UPDATE").is_some() {
            fs::write(&page, format!("{}{}", &written[..table], shown.stdout)).unwrap();
        } else {
            assert!(written[table..] == shown.stdout, "{}: set TWINFER_UPDATE=1", page.display());
        }
    }
}
