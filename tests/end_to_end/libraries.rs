//! Libraries whose bytes are not those that were installed.

use std::{
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::Path,
};

use tempfile::TempDir;
use twinfer_tests::no_findings;

use crate::twinfer;

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
        eprintln!("skipped: ONNX Runtime is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| twinfer(arguments).home(home.path()).within(folder.path()).run();
    let fuzz =
        ["fuzz", "--backends", "golden,ort:cpu", "--known", no_findings(), "--cases", "2", "--out", "run"];
    let generate = run(&["generate", "--out", "cases", "--family", "conv", "--cases", "1"]);
    assert_eq!(generate.code, Some(0), "{}", generate.shown());
    let check = ["check", "cases", "--backends", "golden,ort:cpu", "--out", "checked"];
    assert_eq!(run(&check).code, Some(0));
    let library = home.path().join(INSTALLATION).join(LIBRARY);
    change_byte(&library);
    let damage = format!(
        "{} is not the file that was installed: run `twinfer backends install onnxruntime`",
        library.display()
    );
    let check = ["check", "cases", "--backends", "golden,ort:cpu", "--out", "checked-again"];
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
