//! The folders of findings that count as known.

use std::path::PathBuf;

use twinfer_store::{FindingsFolder, known_findings};

use crate::{Failure, output::warning};

/// The folders of findings that `--known` names, which must exist: each itself, or the one in it if it is a run directory.
pub fn known_folders(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let folder =
        |given: &PathBuf| known_findings(given).map_err(|error| Failure::usage(format!("--known {error}")));
    given.iter().map(folder).collect()
}

/// Warns of what is no finding in the folders of known findings, although it looks like one.
pub fn warn_of_incomplete(folders: &[PathBuf]) -> Result<(), Failure> {
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for incomplete in FindingsFolder::at(folder).incomplete()? {
            warning!(
                "{} is not known: the finding or its case is missing there; copy the folder again",
                incomplete.display()
            );
        }
    }
    Ok(())
}
