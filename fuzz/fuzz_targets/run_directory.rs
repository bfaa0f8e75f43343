//! The directory of a run: its report, resuming it, and merging it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use twinfer_case::RunInfo;
use twinfer_fuzz::Folder;
use twinfer_reports::{Format, Report};
use twinfer_store::{Journal, Resumed, RunDirectory, StoredFinding, merge};

thread_local! {
    static FOLDER: Folder = Folder::new(&[
        "run/run.json",
        "run/journal.jsonl",
        "run/findings/a/finding.json",
        "run/findings/a/case.json",
        "run/revisited.jsonl",
    ]);
}

fuzz_target!(|input: &[u8]| FOLDER.with(|folder| {
    folder.fill(input);
    let run = folder.path().join("run");
    let Ok(report) = Report::of_directory(&run) else { return };
    for format in Format::ALL {
        assert!(!format.render(&report).is_empty());
    }
    merged(folder, &run);
    if let Some(info) = &report.run {
        resumed(&run, info);
    }
}));

/// Merging writes only the merged run.
fn merged(folder: &Folder, run: &Path) {
    let before = folder.entries();
    let merged = merge(&[run.to_owned()], &folder.path().join("merged"), &|_, _| true);
    assert!(folder.entries().iter().all(|path| before.contains(path) || path.starts_with("merged")));
    if merged.is_ok() {
        Report::of_directory(&folder.path().join("merged")).expect("our own run");
    }
}

/// Resuming keeps every complete record, and resuming again keeps the same.
fn resumed(run: &Path, info: &RunInfo) {
    let Ok(directory) = RunDirectory::resume(run) else { return };
    let resume = || Journal::resume(&directory, info, &|_| StoredFinding::Whole);
    let Ok(Resumed { summary, open, .. }) = resume() else { return };
    let again = resume().expect("our own journal");
    assert_eq!(serde_json::to_string(&again.summary).ok(), serde_json::to_string(&summary).ok());
    assert_eq!(again.open, open);
}
