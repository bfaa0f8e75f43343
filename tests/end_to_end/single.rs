//! One case or one model at a time: check, minimize, adopt, replay.

use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_tests::golden;

use crate::twinfer;

/// A stored finding whose model, with `group` 0, crashes ONNX Runtime.
fn crashing_case() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn generated_model_conforms() {
    let out = tempfile::tempdir().unwrap();
    twinfer(&["generate", "--out", text(out.path()), "--family", "conv", "--cases", "1", "--seed", "5"])
        .run();
    let model = out.path().join("conv-5-0/model.onnx");
    let outcome = twinfer(&["check", text(&model), "--backends", "ort:cpu,opt=off"]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
}

#[test]
fn invalid_or_missing_model_is_wrong_usage() {
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
fn invalid_backend_option_is_wrong_usage() {
    let out = tempfile::tempdir().unwrap();
    let (case, out) = (crashing_case(), text(out.path()));
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
fn model_that_crashes_worker_is_a_finding() {
    let case = crashing_case().join("case.json");
    let outcome = twinfer(&["check", text(&case), "--backends", "ort:cpu"]).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("crash"), "{}", outcome.stdout);
}

#[test]
fn checked_finding_is_known_unless_it_has_changed() {
    let kept = tempfile::tempdir().unwrap();
    twinfer(&["adopt", text(&crashing_case()), "--to", text(kept.path())]).run();
    let slug = crashing_case().file_name().unwrap().to_owned();
    let folder = kept.path().join(&slug);
    let check = || twinfer(&["check", text(&folder), "--backends", "ort:cpu"]).run();
    let known = format!("known {}", slug.to_str().unwrap());
    let same = check();
    assert_eq!(same.code, Some(0), "{}", same.shown());
    assert!(same.stdout.contains(&known), "{}", same.shown());
    assert!(same.stdout.contains(", 1 compared"), "{}", same.shown());
    // what the file claims hides nothing that the case shows
    let file = folder.join("finding.json");
    let finding = fs::read_to_string(&file).unwrap();
    fs::write(&file, finding.replace("\"signal 8\"", "\"signal 11\"")).unwrap();
    let changed = check();
    assert_eq!(changed.code, Some(1), "{}", changed.shown());
    assert!(!changed.stdout.contains("known"), "{}", changed.shown());
}

#[test]
fn checked_finding_asks_the_backends_that_showed_it() {
    let asked = |arguments: &[&str]| {
        let case = crashing_case();
        let json = twinfer(&[&["check", text(&case), "--format", "json"], arguments].concat()).run().stdout;
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        let variants = report["run"]["variants"].as_array().unwrap();
        variants.iter().map(|info| info["variant"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let finding: serde_json::Value =
        serde_json::from_slice(&fs::read(crashing_case().join("finding.json")).unwrap()).unwrap();
    let seen_in = finding["seen_in"].as_array().unwrap();
    let showed: Vec<_> = seen_in.iter().map(|seen| seen["variant"].as_str().unwrap()).collect();
    assert_eq!(asked(&[]), showed);
    assert_eq!(asked(&["--backends", "ort:cpu,opt=off"]), ["ort:cpu,opt=off"]);
}

/// A finding whose minimal case also shows another one, and whose values a mutant reproduces that other cases refute.
fn finding_with_another_beside() -> PathBuf {
    let name = "ort-cpu-execute-wrong-values-conv-dequantizelinear-quantizelinear-bias-computed-weights-float16-fcb319df";
    Path::new(env!("CARGO_MANIFEST_DIR")).join("end_to_end/findings").join(name)
}

#[test]
fn what_a_finding_lists_beside_its_own_divergence_is_known() {
    let folder = finding_with_another_beside();
    let check = |folder: &Path| twinfer(&["check", text(folder), "--backends", "ort:cpu,opt=all"]).run();
    let known = check(&folder);
    assert_eq!(known.code, Some(0), "{}", known.shown());
    assert!(known.stdout.contains("2 findings, none of them new"), "{}", known.shown());
    let changed = tempfile::tempdir().unwrap();
    let finding = fs::read_to_string(folder.join("finding.json")).unwrap();
    fs::write(
        changed.path().join("finding.json"),
        finding.replace("there is no quantized kernel", "there is one"),
    )
    .unwrap();
    fs::copy(folder.join("case.json"), changed.path().join("case.json")).unwrap();
    assert_eq!(check(changed.path()).code, Some(1), "the finding lists something else");
}

/// The wrong values show only where no value between the nodes is observed, so that the segment is the whole case.
#[test]
fn checked_finding_of_a_segment_is_known() {
    let name = "ort-cpu-execute-wrong-values-dequantizelinear-quantizelinear-25b43140";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("end_to_end/findings_of_segments").join(name);
    let checked = twinfer(&["check", text(&folder)]).run();
    assert_eq!(checked.code, Some(0), "{}", checked.shown());
    assert!(checked.stdout.starts_with("1 known finding\n"), "{}", checked.shown());
}

#[test]
fn replay_names_no_refuted_explanation() {
    let replayed = twinfer(&["replay", text(&finding_with_another_beside())]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.shown());
    assert!(replayed.stdout.contains("because: unexplained (largest difference 1)"), "{}", replayed.shown());
}

#[test]
fn findings_are_known_in_a_table_too() {
    let findings = finding_with_another_beside();
    let findings = text(findings.parent().unwrap());
    let table = twinfer(&["check", findings, "--backends", "ort:cpu,opt=all"]).run();
    assert_eq!(table.code, Some(0), "{}", table.shown());
    let recorded = twinfer(&["check", findings, "--recorded"]).run();
    assert_eq!(recorded.code, Some(4), "{}", recorded.shown());
    assert!(recorded.stdout.contains("no verdict is stored with the observations"), "{}", recorded.shown());
}

#[test]
fn finding_without_case_in_a_table_is_reported() {
    let cases = tempfile::tempdir().unwrap();
    twinfer(&["adopt", text(&crashing_case()), "--to", text(cases.path())]).run();
    let lost = cases.path().join("lost");
    fs::create_dir(&lost).unwrap();
    fs::copy(crashing_case().join("finding.json"), lost.join("finding.json")).unwrap();
    let check = |more: &[&str]| {
        twinfer(&[&["check", text(cases.path()), "--backends", "golden,ort:cpu"], more].concat()).run()
    };
    let table = check(&[]);
    assert_eq!(table.code, Some(4), "{}", table.shown());
    let missing = format!("not run: {} holds a finding without its case", lost.display());
    assert!(table.stderr.contains(&missing), "{}", table.shown());
    for option in ["--out", "--known"] {
        let refused = check(&[option, text(&cases.path().join("run"))]);
        assert_eq!(refused.code, Some(2), "{}", refused.shown());
    }
}

#[test]
fn file_in_place_of_a_finding_or_run_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("file"), folder.path().join("out"));
    // larger than any model that is read
    fs::File::create(&file).unwrap().set_len(1 << 30).unwrap();
    let (file, out) = (text(&file), text(&out));
    for command in [
        &["adopt", file, "--to", out][..],
        &["merge", file, "--out", out],
        &["report", file],
        &["diff", file, file],
        &["check", file],
        &["minimize", file, "--out", out],
        &["repro", file, "--out", out],
        &["explain", file],
        &["replay", file],
    ] {
        let outcome = twinfer(command).run();
        assert_eq!(outcome.code, Some(2), "{command:?}: {}", outcome.shown());
    }
}

#[test]
fn finding_is_minimized_adopted_and_replayed() {
    let (out, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let outcome =
        twinfer(&["minimize", text(&crashing_case()), "--backends", "ort:cpu", "--out", text(out.path())])
            .run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    let slug = crashing_case().file_name().unwrap().to_owned();
    let adopted = twinfer(&["adopt", text(&out.path().join(&slug)), "--to", text(kept.path())]).run();
    assert_eq!(adopted.code, Some(0), "{}", adopted.shown());
    let replayed = twinfer(&["replay", text(&kept.path().join(&slug))]).run();
    assert_eq!(replayed.code, Some(0), "{}", replayed.shown());
}

#[test]
fn minimize_asks_the_backends_that_showed_the_finding() {
    let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    twinfer(&["adopt", text(&crashing_case()), "--to", text(folder.path())]).run();
    let case = folder.path().join(crashing_case().file_name().unwrap());
    let file = case.join("finding.json");
    let mut finding: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    finding["seen_in"] = serde_json::json!([{"variant": "ort:cpu,opt=off", "version": "1"}]);
    fs::write(&file, finding.to_string()).unwrap();
    let outcome = twinfer(&["minimize", text(&case), "--out", text(out.path())]).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    let written = out.path().join(crashing_case().file_name().unwrap()).join("finding.json");
    let written = fs::read_to_string(written).unwrap();
    assert!(written.contains("ort:cpu,opt=off"), "{written}");
}

#[test]
fn minimize_of_a_case_that_conforms_leaves_no_run_directory() {
    let folder = tempfile::tempdir().unwrap();
    let generate = ["generate", "--out", "cases", "--family", "conv", "--cases", "1", "--seed", "5"];
    twinfer(&generate).within(folder.path()).run();
    let minimize = ["minimize", "cases/conv-5-0", "--backends", "ort:cpu,opt=off"];
    let outcome = twinfer(&minimize).within(folder.path()).run();
    assert!(outcome.stdout.contains("nothing to minimize"), "{}", outcome.shown());
    assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), 0);
}

#[test]
fn case_without_runs_or_of_newer_format_is_wrong_usage() {
    let (kept, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    twinfer(&["adopt", text(&crashing_case()), "--to", text(kept.path())]).run();
    let folder = kept.path().join(crashing_case().file_name().unwrap());
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
            let is_named = outcome.stderr.contains(text(&file)) && outcome.stderr.contains(reason);
            assert!(is_named, "{}", outcome.shown());
        }
    }
}

#[test]
fn replay_with_different_result_exits_1() {
    let kept = tempfile::tempdir().unwrap();
    twinfer(&["adopt", text(&crashing_case()), "--to", text(kept.path())]).run();
    let folder = kept.path().join(crashing_case().file_name().unwrap());
    let case = fs::read_to_string(folder.join("case.json")).unwrap();
    fs::write(folder.join("case.json"), case.replace("\"group\": 0", "\"group\": 3")).unwrap();
    let outcome = twinfer(&["replay", text(&folder)]).run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
}

#[test]
fn finding_is_adopted_into_a_folder_that_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("new/cases");
    let adopted = twinfer(&["adopt", text(&crashing_case()), "--to", text(&kept)]).run();
    assert_eq!(adopted.code, Some(0), "{}", adopted.shown());
    assert_eq!(kept.read_dir().unwrap().count(), 2);
}

#[test]
fn dimension_of_a_fixed_model_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let generate = ["generate", "--out", text(folder.path()), "--family", "conv", "--cases", "1"];
    assert_eq!(twinfer(&generate).run().code, Some(0));
    let case = folder.path().read_dir().unwrap().next().unwrap().unwrap().path();
    let model = case.join("model.onnx");
    let outcome = twinfer(&["check", text(&model), "--backends", "ort:cpu", "--dim", "nothing=3"]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("no symbolic dimension \"nothing\""), "{}", outcome.shown());
    assert!(!outcome.stderr.contains('{'), "{}", outcome.shown());
    let both = twinfer(&["check", text(&model), text(&model), "--backends", "ort:cpu"]).run();
    assert_eq!(both.code, Some(2), "{}", both.shown());
    assert!(both.stderr.contains("check models one at a time"), "{}", both.shown());
}

#[test]
fn check_says_that_a_finding_does_not_show() {
    let finding = golden().join("cases/trt-build-precision-fallback-conv-not-fused-ea91628b");
    let outcome = twinfer(&["check", text(&finding), "--backends", "golden,ort:cpu"]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert!(outcome.stderr.contains("ea91628b does not show on these backends"), "{}", outcome.shown());
}

#[test]
fn replay_of_a_file_names_the_folder() {
    let finding = crashing_case();
    let file = finding.join("case.json");
    let outcome = twinfer(&["replay", text(&file)]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(
        outcome.stderr.contains(&format!("give the folder {}", finding.display())),
        "{}",
        outcome.shown()
    );
    let other = twinfer(&["replay", text(&finding), "--backends", "golden,ort:cpu,opt=off"]).run();
    assert!(other.stderr.contains("or name one of ort:cpu"), "{}", other.shown());
}
