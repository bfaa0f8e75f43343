//! Libraries whose bytes are not those that were installed.

use std::{
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::Path,
};

use serde_json::Value;
use tempfile::TempDir;
use twinfer_prerequisites::skip;
use twinfer_tests::no_findings;

use crate::{
    fuzz::{findings, fuzz},
    twinfer,
};

const INSTALLATION: &str = "libraries/onnxruntime-1.31.1";
const LIBRARY: &str = "libonnxruntime_providers_shared.so";

/// A home with a copy of the installed ONNX Runtime; `None` if it is not installed.
fn home_with_library() -> Option<TempDir> {
    let installed = twinfer_libraries::Store::open().and_then(|store| store.find("onnxruntime")).ok()?;
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join(INSTALLATION);
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(installed.directory).unwrap().flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    Some(home)
}

/// Overwrites a byte in the middle of the library with another one.
fn change_byte(library: &Path) {
    let middle = fs::metadata(library).unwrap().len() / 2;
    let changed = !fs::read(library).unwrap()[usize::try_from(middle).unwrap()];
    let mut file = OpenOptions::new().write(true).open(library).unwrap();
    file.seek(SeekFrom::Start(middle)).unwrap();
    file.write_all(&[changed]).unwrap();
}

#[test]
fn changed_byte_of_library_ends_every_command() {
    let Some(home) = home_with_library() else {
        skip("onnxruntime", "ONNX Runtime is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| twinfer(arguments).home(home.path()).within(folder.path()).run();
    let fuzz =
        ["fuzz", "--backends", "golden,ort:cpu", "--known", no_findings(), "--cases", "2", "--out", "run"];
    let generate = run(&["generate", "--out", "cases", "--family", "conv", "--cases", "1"]);
    assert_eq!(generate.code, Some(0), "{}", generate.shown());
    let check = ["check", "cases", "--backends", "golden,ort:cpu"];
    assert_eq!(run(&check).code, Some(0));
    let library = home.path().join(INSTALLATION).join(LIBRARY);
    change_byte(&library);
    let damage = format!(
        "{} is not the file that was installed: run `twinfer backends install onnxruntime`",
        library.display()
    );
    for command in [&fuzz[..], &check] {
        let outcome = run(command);
        assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
        assert!(outcome.stderr.contains(&damage), "{}", outcome.shown());
    }
    let doctor = run(&["backends", "doctor"]);
    assert_eq!(doctor.code, Some(3), "{}", doctor.shown());
    assert!(doctor.stdout.contains(&damage), "{}", doctor.shown());
    assert!(!folder.path().join("run").exists(), "a run without cases is left");
}

#[test]
fn replay_leaves_out_releases_that_are_not_installed() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fuzz(
        &run,
        &["--backends", "ort:cpu", "--family", "invalid", "--seed", "20", "--cases", "40", "--no-minimize"],
    );
    let found = run.join("findings").join(findings(&run).first().unwrap());
    let path = found.with_extension("observed.json");
    let mut recording: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let mut other = recording["observed"][0].clone();
    other["variant"] = "ort:cpu,version=1.20".into();
    recording["observed"].as_array_mut().unwrap().push(other);
    fs::write(&path, recording.to_string()).unwrap();
    let replay = twinfer(&["replay", found.to_str().unwrap()]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.shown());
    for part in ["skipped   ort:cpu,version=1.20: ", "run `twinfer backends install onnxruntime==1.20`"] {
        assert!(replay.stdout.contains(part), "{}", replay.shown());
    }
}

#[test]
fn known_folder_without_findings_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("known");
    fs::create_dir_all(known.join("findings")).unwrap();
    let run = folder.path().join("run");
    let known = known.to_str().unwrap();
    let campaign = ["fuzz", "--backends", "ort:cpu,opt=off", "--family", "conv", "--cases", "2"];
    let rest = ["--known", known, "--out", run.to_str().unwrap()];
    let outcome = twinfer(&[&campaign[..], &rest].concat()).run();
    assert!(outcome.stderr.contains("none of its folders is a finding"), "{}", outcome.shown());
}

#[test]
fn replay_names_library_with_other_bytes_of_equal_version() {
    let folder = tempfile::tempdir().unwrap();
    let (run, adopted) = (folder.path().join("run"), folder.path().join("adopted"));
    let campaign =
        ["--backends", "ort:cpu", "--family", "invalid", "--seed", "20", "--cases", "40", "--no-minimize"];
    fuzz(&run, &campaign);
    let found = run.join("findings").join(findings(&run).first().unwrap());
    let (found, adopted) = (found.to_str().unwrap(), adopted.to_str().unwrap());
    fs::create_dir(adopted).unwrap();
    assert_eq!(twinfer(&["adopt", found, "--to", adopted]).run().code, Some(0));
    let adopted = Path::new(adopted).join(Path::new(found).file_name().unwrap());
    let replay = || twinfer(&["replay", adopted.to_str().unwrap()]).run();
    let same = replay();
    assert_eq!(same.code, Some(0), "{}", same.shown());
    assert!(!same.stdout.contains("another library"), "{}", same.stdout);
    let path = adopted.with_extension("observed.json");
    let mut recording: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let file = recording.pointer_mut("/observed/0/library/files/0").unwrap();
    let now = file["sha256"].as_str().unwrap()[..12].to_owned();
    file["sha256"] = "0123456789ab".repeat(5).into();
    let difference = format!(
        "another library of the same version: {} has the SHA-256 {now}…, and had 0123456789ab… when this was recorded",
        file["name"].as_str().unwrap()
    );
    fs::write(&path, recording.to_string()).unwrap();
    let other = replay();
    assert_eq!(other.code, Some(0), "{}", other.shown());
    assert!(other.stdout.contains(&difference), "{difference}: {}", other.stdout);
    recording["observed"][0]["version"] = "of another day".into();
    fs::write(&path, recording.to_string()).unwrap();
    let newer = replay();
    assert!(newer.stdout.contains("recorded with of another day"), "{}", newer.stdout);
    assert!(!newer.stdout.contains("another library"), "{}", newer.stdout);
}

#[test]
fn what_is_not_installed_is_left_out_in_one_line() {
    let Some(home) = home_with_library() else {
        skip("onnxruntime", "ONNX Runtime is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        twinfer(arguments).home(home.path()).variable("PATH", "/nowhere").within(folder.path()).run()
    };
    let fuzz = run(&["fuzz", "--known", no_findings(), "--family", "conv", "--cases", "2", "--out", "run"]);
    assert_eq!(fuzz.code, Some(0), "{}", fuzz.shown());
    let left_out = "left out: trt-rtx (not installed: twinfer backends install tensorrt-rtx)";
    assert_eq!(fuzz.stderr.matches(left_out).count(), 1, "{}", fuzz.shown());
    assert!(fuzz.stdout.contains("ort:cpu") && !fuzz.stdout.contains("trt-rtx"), "{}", fuzz.shown());
}
