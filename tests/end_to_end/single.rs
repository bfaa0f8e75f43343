//! One case or one model at a time: check, minimize, adopt, replay.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::twinfer;

/// A model that ONNX Runtime dies of: `group` is 0.
fn deadly() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_generated_model_conforms() {
    let out = tempfile::tempdir().unwrap();
    twinfer(&["generate", "--out", text(out.path()), "--family", "conv", "--cases", "1", "--seed", "5"])
        .run();
    let model = out.path().join("conv-5-0/model.onnx");
    let outcome = twinfer(&["check", text(&model), "--backends", "ort:cpu,opt=off"]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
}

#[test]
fn what_is_no_model_is_wrong_input() {
    let out = tempfile::tempdir().unwrap();
    let junk = out.path().join("junk.onnx");
    fs::write(&junk, "not a model").unwrap();
    for path in [&junk, &out.path().join("absent.onnx")] {
        let outcome = twinfer(&["check", text(path), "--backends", "ort:cpu"]).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains(text(path)), "{}", outcome.stderr);
    }
}

#[test]
fn a_backend_that_does_not_take_its_options_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    let (case, out) = (deadly(), text(out.path()));
    for command in
        [&["check", text(&case)][..], &["minimize", text(&case), "--out", out], &["replay", text(&case)]]
    {
        for option in ["opt=nonsense", "unknown=1"] {
            let backends = format!("ort:cpu,{option}");
            let outcome = twinfer(&[command, &["--backends", &backends]].concat()).run();
            assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
            assert!(outcome.stderr.starts_with(&format!("error: {backends}: ")), "{}", outcome.stderr);
        }
    }
}

#[test]
fn a_model_that_kills_its_worker_is_a_finding_and_not_the_end() {
    let outcome = twinfer(&["check", text(&deadly()), "--backends", "ort:cpu"]).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("crash"), "{}", outcome.stdout);
}

#[test]
fn a_finding_is_minimised_adopted_and_replayed() {
    let (out, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let outcome =
        twinfer(&["minimize", text(&deadly()), "--backends", "ort:cpu", "--out", text(out.path())]).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    let slug = deadly().file_name().unwrap().to_owned();
    let adopted = twinfer(&["adopt", text(&out.path().join(&slug)), "--to", text(kept.path())]).run();
    assert_eq!(adopted.code, Some(0), "{}", adopted.shown());
    let replayed = twinfer(&["replay", text(&kept.path().join(&slug))]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.shown());
}

#[test]
fn a_case_that_has_nothing_to_run_or_is_of_a_later_time_is_wrong_input() {
    let (kept, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    twinfer(&["adopt", text(&deadly()), "--to", text(kept.path())]).run();
    let folder = kept.path().join(deadly().file_name().unwrap());
    let file = folder.join("case.json");
    let whole: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let damages = [
        ("runs", serde_json::json!([]), "it has no runs"),
        ("runs", serde_json::json!([{"inputs": []}]), "run 0 has 0 inputs"),
        ("format", 9.into(), "its format is 9"),
    ];
    for (member, value, reason) in damages {
        let mut case = whole.clone();
        case[member] = value;
        fs::write(&file, case.to_string()).unwrap();
        for command in [
            &["check", text(&folder), "--backends", "ort:cpu"][..],
            &["check", text(&file), "--backends", "ort:cpu"],
            &["minimize", text(&folder), "--backends", "ort:cpu", "--out", text(out.path())],
            &["replay", text(&folder)],
            &["adopt", text(&folder), "--to", text(out.path())],
        ] {
            let outcome = twinfer(command).run();
            assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
            let told = outcome.stderr.contains(text(&file)) && outcome.stderr.contains(reason);
            assert!(told, "{}", outcome.shown());
        }
    }
}

#[test]
fn a_replay_that_shows_something_else_says_so() {
    let kept = tempfile::tempdir().unwrap();
    twinfer(&["adopt", text(&deadly()), "--to", text(kept.path())]).run();
    let folder = kept.path().join(deadly().file_name().unwrap());
    let case = fs::read_to_string(folder.join("case.json")).unwrap();
    fs::write(folder.join("case.json"), case.replace("\"group\": 0", "\"group\": 3")).unwrap();
    let outcome = twinfer(&["replay", text(&folder)]).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
}
