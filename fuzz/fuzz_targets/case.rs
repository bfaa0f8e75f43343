//! The folder of a finding: its case, its description and its recorded observations.
#![no_main]

use std::{fs, path::Path};

use libfuzzer_sys::fuzz_target;
use twinfer_store::{Recording, adopt};
use twinfer_targets::read_case;

use twinfer_case::{Case, Run, Task, TensorSource};
use twinfer_fuzz::Folder;
use twinfer_onnx::element_count;

/// The largest number of elements of a case's recipes that the target materializes.
const ELEMENTS: usize = 1 << 16;

thread_local! {
    static FOLDER: Folder = Folder::new(&[
        "finding/case.json",
        "finding/finding.json",
        "finding/finding.snap",
        "finding/model.onnx",
        "finding/preceding/0000.json",
        "finding/test_data_set_0/input_0.pb",
        "finding.observed.json",
    ]);
}

fuzz_target!(|input: &[u8]| FOLDER.with(|folder| {
    folder.fill(input);
    let finding = folder.path().join("finding");
    if let Ok(case) = read_case(&finding) {
        check(&case);
    }
    if let Ok(recording) = Recording::read_beside(&finding) {
        recorded(&recording, &finding);
    }
    adopted(folder, &finding);
}));

fn check(case: &Case) {
    let _ = case.graph.to_string();
    let json = serde_json::to_string(case).expect("every case can be written");
    let again: Case = serde_json::from_str(&json).expect("our own JSON");
    assert_eq!(serde_json::to_string(&again).expect("as before"), json);
    let sources = case.runs.iter().flat_map(|run| &run.inputs);
    let elements = sources
        .map(|source| element_count(source.shape()))
        .try_fold(0usize, |sum, count| sum.checked_add(count?));
    if elements.is_some_and(|elements| elements <= ELEMENTS) {
        materialized(case);
    } else if elements.is_none_or(|elements| elements > twinfer_case::MAX_CASE_ELEMENTS) {
        assert!(Task::of(case).is_err(), "more elements than a case may have");
    }
}

/// A case with recipes has the same hash as the case with their data.
fn materialized(case: &Case) {
    let task = Task::of(case).expect("it is small");
    let data = |inputs: &Vec<_>| Run { inputs: inputs.iter().cloned().map(TensorSource::Data).collect() };
    let kept = Case { runs: task.runs.iter().map(data).collect(), ..case.clone() };
    let json = serde_json::to_string(&kept).expect("every case can be written");
    let read: Case = serde_json::from_str(&json).expect("our own JSON");
    assert_eq!(read.hash(), Ok(task.hash));
}

/// A recording is written as it was read.
fn recorded(recording: &Recording, finding: &Path) {
    let copy = finding.with_file_name("copy");
    let text = |recording: &Recording| {
        recording.write_beside(&copy).expect("every recording can be written");
        fs::read(finding.with_file_name("copy.observed.json")).expect("it was written")
    };
    let written = text(recording);
    assert_eq!(text(&Recording::read_beside(&copy).expect("our own recording")), written);
}

/// An adopted finding gets its own folder, and no other file changes.
fn adopted(folder: &Folder, finding: &Path) {
    let before = folder.entries();
    let Ok(adopted) = adopt(finding, &folder.path().join("golden")) else { return };
    assert_eq!(adopted.parent(), Some(folder.path().join("golden").as_path()));
    let name = adopted.file_name().and_then(|name| name.to_str()).expect("a plain name");
    assert!(
        name.len() <= 120 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    );
    let own = |path: &Path| {
        path.strip_prefix("golden").is_ok_and(|path| {
            path.as_os_str().is_empty() || path.to_str().is_some_and(|path| path.starts_with(name))
        })
    };
    assert!(folder.entries().iter().all(|path| before.contains(path) || own(path)));
    assert_eq!(adopt(finding, &folder.path().join("golden")).ok(), Some(adopted));
}
