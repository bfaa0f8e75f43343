//! The help, usage errors and exit codes of every command.

use std::fs::File;

use crate::twinfer;

fn output_of(arguments: &[&str]) -> String {
    twinfer(arguments).run().shown()
}

#[test]
fn help_lists_the_commands() {
    insta::assert_snapshot!(output_of(&["--help"]));
}

#[test]
fn help_of_every_command() {
    let commands = [
        "fuzz",
        "check",
        "replay",
        "minimize",
        "explain",
        "adopt",
        "repro",
        "generate",
        "report",
        "merge",
        "diff",
        "bench",
        "backends",
        "completions",
        "man",
    ];
    let pages = commands.map(|command| twinfer(&[command, "--help"]).run().stdout);
    insta::assert_snapshot!(pages.join("\n"));
}

#[test]
fn installed_library_passes_doctor() {
    let home = tempfile::tempdir().unwrap();
    let install = twinfer(&["backends", "install", "onnxruntime"]).home(home.path()).run();
    if install.stderr.contains("pip download") {
        eprintln!("skipped: {}", install.stderr);
        return;
    }
    assert_eq!(install.code, Some(0), "{}", install.shown());
    let doctor = twinfer(&["backends", "doctor"]).home(home.path()).run();
    assert_eq!(doctor.code, Some(0), "{}", doctor.shown());
    assert!(doctor.stdout.contains("ok onnxruntime 1.31.1: ort:cpu runs ONNX Runtime"), "{}", doctor.stdout);
}

#[test]
fn doctor_fails_where_no_backend_is_installed() {
    let home = tempfile::tempdir().unwrap();
    let doctor = twinfer(&["backends", "doctor"]).home(home.path()).run();
    assert_eq!(doctor.code, Some(3), "{}", doctor.shown());
    let remedy = "no backend is installed: run `twinfer backends install onnxruntime tensorrt-rtx`";
    assert!(doctor.stdout.contains(remedy), "{}", doctor.stdout);
}

#[test]
fn generate_overwrites_nothing_but_generated_cases() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let generate = || twinfer(&["generate", "--out", out, "--cases", "1"]).run();
    assert_eq!((generate().code, generate().code), (Some(0), Some(0)));
    for other in ["notes.txt", "conv-0-99"] {
        let other = folder.path().join(other);
        std::fs::write(&other, "mine").unwrap();
        let refused = generate();
        assert_eq!(refused.code, Some(2), "{}", refused.shown());
        assert!(refused.stderr.contains("is not empty: give another folder"), "{}", refused.stderr);
        std::fs::remove_file(other).unwrap();
    }
}

/// As on a machine without a network: the folder that the archive unpacks into is enough.
#[test]
fn packed_library_runs_on_another_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, home) = (folder.path().join("twinfer.tar"), folder.path().join("home"));
    let archive = archive.to_str().unwrap();
    let pack = twinfer(&["backends", "pack", "onnxruntime", "--out", archive]).run();
    assert_eq!(pack.code, Some(0), "{}", pack.shown());
    let again = twinfer(&["backends", "pack", "onnxruntime", "--out", archive]).run();
    assert!(again.code == Some(3) && again.stderr.contains("File exists"), "{}", again.shown());
    let unpack = twinfer(&["backends", "unpack", archive]).home(&home).run();
    assert_eq!(unpack.code, Some(0), "{}", unpack.shown());
    let doctor = twinfer(&["backends", "doctor"]).home(&home).run();
    assert!(doctor.stdout.contains("ok onnxruntime 1.31.1: ort:cpu runs ONNX Runtime"), "{}", doctor.stdout);
    let strange = twinfer(&["backends", "unpack", "/dev/null"]).home(&home).run();
    assert!(
        strange.code == Some(2) && strange.stderr.contains("it holds no libraries"),
        "{}",
        strange.shown()
    );
}

#[test]
fn unknown_command_is_wrong_usage() {
    assert_eq!(twinfer(&["frobnicate"]).run().code, Some(2));
}

#[test]
fn empty_home_lists_only_available_libraries() {
    let home = tempfile::tempdir().unwrap();
    let outcome = twinfer(&["backends", "list"]).home(home.path()).run();
    insta::with_settings!({filters => vec![(home.path().to_str().unwrap(), "[HOME]")]}, {
        insta::assert_snapshot!(outcome.shown());
    });
}

#[test]
fn unknown_library_error_lists_known_ones() {
    insta::assert_snapshot!(output_of(&["backends", "install", "tensorrt-9.9"]));
}

#[test]
fn folder_without_libraries_is_wrong_usage() {
    let empty = tempfile::tempdir().unwrap();
    let outcome = twinfer(&["backends", "install", empty.path().to_str().unwrap()]).run();
    insta::with_settings!({filters => vec![(empty.path().to_str().unwrap(), "[FOLDER]")]}, {
        insta::assert_snapshot!(outcome.shown());
    });
}

#[test]
fn options_of_every_backend_are_listed() {
    insta::assert_snapshot!(output_of(&["backends", "options"]));
}

#[test]
fn options_of_one_backend_are_listed() {
    insta::assert_snapshot!(output_of(&["backends", "options", "trt-rtx"]));
}

#[test]
fn unknown_option_error_lists_those_that_exist() {
    insta::assert_snapshot!(output_of(&["fuzz", "--backends", "golden,ort:cpu,speed=high", "--cases", "1"]));
}

#[test]
fn damaged_installation_fails_doctor() {
    let (home, libraries) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let library = libraries.path().join("libonnxruntime.so.1.31.1");
    std::fs::write(&library, "whole").unwrap();
    let install = ["backends", "install", libraries.path().to_str().unwrap()];
    assert_eq!(twinfer(&install).home(home.path()).run().code, Some(0));
    std::fs::write(&library, "break").unwrap();
    let outcome = twinfer(&["backends", "doctor"]).home(home.path()).run();
    assert_eq!(outcome.code, Some(3));
    assert!(outcome.stdout.contains("is not the file that was installed"), "{}", outcome.stdout);
}

#[test]
fn report_of_folder_without_run_is_wrong_usage() {
    let empty = tempfile::tempdir().unwrap();
    let outcome = twinfer(&["report", empty.path().to_str().unwrap()]).run();
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("run.json"), "{}", outcome.stderr);
}

#[test]
fn same_seed_generates_same_files() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&one, &two] {
        let out = folder.path().to_str().unwrap();
        let outcome = twinfer(&["generate", "--out", out, "--cases", "3", "--seed", "7"]).run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    let read = |folder: &tempfile::TempDir| std::fs::read(folder.path().join("conv-7-2/model.onnx")).unwrap();
    assert_eq!(read(&one), read(&two));
}

/// A file that takes no byte, as on a full disk.
fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[test]
fn exit_code_does_not_depend_on_standard_error() {
    let out = tempfile::tempdir().unwrap();
    let run = out.path().join("run");
    let campaign = ["fuzz", "--backends", "golden,ort:cpu", "--family", "conv", "--cases", "3", "--out"];
    for (arguments, code) in [
        (&[&campaign[..], &[run.to_str().unwrap()]].concat()[..], 0),
        (&["report", run.to_str().unwrap()], 0),
        (&["report", "absent"], 2),
        (&["frobnicate"], 2),
    ] {
        let outcome = twinfer(arguments).errors_to(full()).run();
        assert_eq!(outcome.code, Some(code), "{arguments:?}: {}", outcome.shown());
    }
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for arguments in [&["--help"][..], &["fuzz", "--help"], &["--version"], &["completions", "zsh"]] {
        let outcome = twinfer(arguments).output_to(full()).run();
        assert_eq!(outcome.code, Some(3), "{arguments:?}: {}", outcome.shown());
        assert!(outcome.stderr.starts_with("error: cannot write to standard output"), "{}", outcome.stderr);
    }
}
