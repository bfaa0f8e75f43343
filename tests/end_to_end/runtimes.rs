//! Runtimes beside ONNX Runtime and TensorRT.

use std::{fs, path::Path};

use twinfer_tests::{Outcome, executable, no_findings};

use crate::{
    fuzz::{findings, fuzz, journal},
    twinfer,
};

/// The labels of the runtimes that are Python packages, with the options that let them run on any machine.
const LABELS: [(&str, &str); 5] =
    [("openvino", ""), ("onnx-reference", ""), ("tract", ""), ("mnn", ""), ("torch-tensorrt", ",ir=eager")];
/// The program of rten.
const PROGRAM: &str = "twinfer-rten";

/// The labels of the runtimes that are here, and their options.
fn installed() -> Vec<(&'static str, &'static str)> {
    let store = twinfer_libraries::Store::open().unwrap();
    let is_installed = |(label, _): &(&str, &str)| {
        let found = store.find(label);
        if let Err(error) = &found {
            eprintln!("skipped: {error}");
        }
        found.is_ok()
    };
    let has_program = executable(env!("CARGO_BIN_EXE_twinfer-under-test")).with_file_name(PROGRAM).is_file();
    if !has_program {
        eprintln!("skipped: {PROGRAM} is not beside twinfer");
    }
    LABELS.into_iter().filter(is_installed).chain(has_program.then_some(("rten", ""))).collect()
}

#[test]
fn missing_program_is_named_with_its_installation() {
    let folder = tempfile::tempdir().unwrap();
    let backends = format!("golden,rten,lib={}", folder.path().join(PROGRAM).display());
    let outcome = fuzz(folder.path(), &["--cases", "1", "--backends", &backends]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
    assert!(
        outcome.stderr.contains("is not a file: run `cargo install --locked --path adapters/rten`"),
        "{}",
        outcome.shown()
    );
}

#[test]
fn runtime_without_plugins_is_answered_with_a_release_or_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let backends = format!("golden,ort:ep=openvino,lib={0},plugin={0}", folder.path().display());
    let outcome = fuzz(folder.path(), &["--cases", "1", "--backends", &backends]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
    let has_program =
        executable(env!("CARGO_BIN_EXE_twinfer-under-test")).with_file_name("twinfer-ort-plugins").is_file();
    let expected = if has_program {
        "cannot load"
    } else {
        "run `cargo install --locked --path harness/worker --features ort-plugins`"
    };
    assert!(outcome.stderr.contains(expected), "{}", outcome.shown());
}

#[test]
fn installed_runtimes_are_compared_under_their_labels() {
    for (label, options) in installed() {
        let out = tempfile::tempdir().unwrap();
        let variant = format!("{label}{options}");
        let backends = format!("golden,{variant}");
        let campaign = ["--family", "conv", "--seed", "3", "--cases", "40", "--no-minimize", "--backends"];
        let outcome = fuzz(out.path(), &[&campaign[..], &[&backends]].concat());
        assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
        let cases = journal(out.path());
        assert!(cases.iter().all(|case| case["variants"][0]["variant"] == variant), "{variant}");
        let verdicts = cases.iter().map(|case| &case["variants"][0]["verdict"]);
        let conforms = verdicts.clone().filter(|verdict| *verdict == "conforms").count();
        let unsupported = verdicts.filter(|verdict| verdict.get("unsupported").is_some()).count();
        // MNN gives most convolutions of one spatial axis an axis more
        let expected = if label == "mnn" { 20 } else { 30 };
        assert!(conforms >= 10 && conforms + unsupported >= expected, "{label}: {}", outcome.shown());
        let found = findings(out.path());
        assert!(found.iter().all(|finding| finding.starts_with(label)), "{found:?}");
    }
}

#[test]
fn unknown_option_of_a_runtime_is_wrong_usage() {
    for (label, _) in installed() {
        let out = tempfile::tempdir().unwrap();
        let backends = format!("golden,{label},opt=off");
        let outcome = fuzz(out.path(), &["--cases", "1", "--backends", &backends]);
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        assert!(outcome.stderr.contains("unknown option 'opt'"), "{}", outcome.shown());
    }
}

/// The smallest environment, from the network to a campaign without one.
#[test]
fn environment_is_installed_verified_and_packed() {
    let folder = tempfile::tempdir().unwrap();
    let (home, other) = (folder.path().join("home"), folder.path().join("other"));
    let install = || twinfer(&["backends", "install", "onnx-reference"]).home(&home).run();
    let first = install();
    if first.stderr.contains("pip download") || first.stderr.contains("put a python3") {
        eprintln!("skipped: {}", first.stderr);
        return;
    }
    assert_eq!(first.code, Some(0), "{}", first.shown());
    assert_runs(&doctor(&home));

    let environment = fs::read_dir(home.join("libraries")).unwrap().flatten().map(|entry| entry.path());
    let environment = environment.into_iter().find(|path| path.join("manifest.json").is_file()).unwrap();
    let evaluator = environment.join("site-packages/onnx/reference/reference_evaluator.py");
    fs::write(&evaluator, "changed").unwrap();
    let damaged = doctor(&home);
    assert_eq!(damaged.code, Some(3), "{}", damaged.shown());
    assert!(
        damaged.stdout.contains("reference_evaluator.py is not the file that was installed"),
        "{}",
        damaged.shown()
    );

    fs::remove_dir_all(environment.join("site-packages")).unwrap();
    let arguments = ["fuzz", "--backends", "golden,onnx-reference", "--known", no_findings(), "--cases", "1"];
    let without = twinfer(&arguments).home(&home).within(folder.path()).run();
    assert_eq!(without.code, Some(3), "{}", without.shown());
    assert!(without.stderr.contains("run `twinfer backends install onnx-reference`"), "{}", without.shown());

    let again = install();
    assert_eq!(again.code, Some(0), "{}", again.shown());
    assert!(!again.stderr.contains("downloading"), "its wheels are there: {}", again.shown());
    assert_runs(&doctor(&home));

    let archive = folder.path().join("twinfer.tar");
    let archive = archive.to_str().unwrap();
    let pack = twinfer(&["backends", "pack", "onnx-reference", "--out", archive]).home(&home).run();
    assert_eq!(pack.code, Some(0), "{}", pack.shown());
    let unpack = twinfer(&["backends", "unpack", archive]).home(&other).run();
    assert_eq!(unpack.code, Some(0), "{}", unpack.shown());
    assert_runs(&doctor(&other));
}

fn doctor(home: &Path) -> Outcome {
    twinfer(&["backends", "doctor"]).home(home).run()
}

fn assert_runs(doctor: &Outcome) {
    assert_eq!(doctor.code, Some(0), "{}", doctor.shown());
    let line = "ok onnx-reference 1.23.2: onnx-reference runs onnx ReferenceEvaluator 1.23.2";
    assert!(doctor.stdout.contains(line), "{}", doctor.shown());
}
