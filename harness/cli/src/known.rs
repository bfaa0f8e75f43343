//! The folders of findings that count as known.

use std::path::PathBuf;

use twinfer_store::known_findings;

use crate::Failure;

/// The folders of findings that `--known` names, which must exist: each itself, or the one in it if it is a run directory.
pub fn known_folders(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let folder =
        |given: &PathBuf| known_findings(given).map_err(|error| Failure::usage(format!("--known {error}")));
    given.iter().map(folder).collect()
}
