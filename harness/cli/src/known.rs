//! The folders of findings that count as known.

use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_store::{has_finding, known_findings};

use crate::Failure;

/// The folders of findings that `--known` names, which must exist: each itself, or the one in it if it is a run directory.
pub fn known_folders(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    given.iter().map(|folder| findings_in(folder)).collect()
}

/// The folder of findings in `folder` if that is a run directory, otherwise `folder` itself.
fn findings_in(folder: &Path) -> Result<PathBuf, Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage(format!(
            "--known {}: no such folder: give a folder of findings, or leave the option out",
            folder.display()
        )));
    }
    if has_finding(folder) {
        return Err(Failure::usage(format!(
            "--known {} is one finding: give its parent folder",
            folder.display()
        )));
    }
    let findings = known_findings(folder);
    let entries: Vec<_> = fs::read_dir(&findings).into_iter().flatten().flatten().collect();
    if !entries.is_empty() && !entries.iter().any(|entry| has_finding(&entry.path())) {
        return Err(Failure::usage(format!(
            "--known {}: none of its folders is a finding: give a folder of findings, or a run",
            folder.display()
        )));
    }
    Ok(findings)
}
