//! Findings and observations that are stored in the repository are read, and written again byte by byte as they were.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use twinfer_case::{BackendVersion, Finding, LibraryInfo, Observation, Variant, Verdict};

/// A line of a recording.
#[derive(Serialize, Deserialize)]
struct Recorded {
    variant: Variant,
    version: BackendVersion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    library: Option<LibraryInfo>,
    observation: Observation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compared: Option<bool>,
}

/// The entries of a folder of `golden`, in order.
fn stored(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(folder);
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn stored_findings_are_written_as_they_were_read() {
    let files = stored("cases").into_iter().map(|folder| folder.join("finding.json"));
    let files: Vec<_> = files.filter(|file| file.is_file()).collect();
    assert!(files.len() > 100, "{}", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let finding: Finding = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string_pretty(&finding).unwrap(), text.trim_end(), "{}", file.display());
    }
}

#[test]
fn stored_observations_are_written_as_they_were_read() {
    let files = stored("cases").into_iter().chain(stored("catalogue"));
    let recordings = files.filter(|file| file.to_string_lossy().ends_with(".observed.json"));
    let mut lines = 0;
    for file in recordings {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines().map(|line| line.trim().trim_end_matches(',')) {
            if line.starts_with(r#"{"variant""#) {
                let recorded: Recorded = serde_json::from_str(line).unwrap();
                assert_eq!(serde_json::to_string(&recorded).unwrap(), line, "{}", file.display());
                lines += 1;
            }
        }
    }
    assert!(lines > 100, "{lines}");
}
