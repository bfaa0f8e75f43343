//! The *history* of a case: the cases that its worker ran before, oldest first. The folder of a finding that needs its history
//! holds it as `preceding/0000.json` and so on.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use twinfer_case::{Case, EncodedCase};

use crate::{
    StoreError,
    case_folder::{read_case_in, write_materialized},
    names::PRECEDING,
};

/// Writes the history of a case to the folder of a finding, in place of an earlier one; nothing if it is empty.
pub fn write_preceding(finding: &Path, history: &[Arc<EncodedCase>]) -> Result<(), StoreError> {
    let folder = finding.join(PRECEDING);
    if folder.is_dir() {
        fs::remove_dir_all(&folder).map_err(StoreError::writing(&folder))?;
    }
    if history.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(StoreError::writing(&folder))?;
    let mut cases = history.iter().enumerate();
    cases.try_for_each(|(index, encoded)| write_materialized(&finding.join(file(index)), encoded))
}

/// The most cases of a history. Workers remember fewer.
const MAX_CASES: usize = 64;

/// The history in the folder of a finding; empty if the finding needs none.
///
/// # Errors
///
/// If a file cannot be read or is no case, or if there are more than 64 cases: a finding may come from anywhere.
pub fn read_preceding(finding: &Path) -> Result<Vec<Case>, StoreError> {
    if finding.join(file(MAX_CASES)).is_file() {
        let reason = format!("a finding needs at most {MAX_CASES} cases before its own");
        return Err(StoreError::format(finding.join(PRECEDING))(reason));
    }
    files(finding).map(|name| read_case_in(finding, name)).collect()
}

/// The files of the history in the folder of a finding, in order, as paths in that folder.
pub fn files(finding: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    (0..).map(file).take_while(|name| finding.join(name).is_file())
}

fn file(index: usize) -> PathBuf {
    Path::new(PRECEDING).join(format!("{index:04}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_bounded() {
        let finding = tempfile::tempdir().unwrap();
        assert_eq!(read_preceding(finding.path()).unwrap(), []);
        fs::create_dir(finding.path().join(PRECEDING)).unwrap();
        for index in 0..=MAX_CASES {
            fs::write(finding.path().join(file(index)), "no case").unwrap();
        }
        let error = read_preceding(finding.path()).unwrap_err().to_string();
        assert!(error.ends_with("a finding needs at most 64 cases before its own"), "{error}");
    }
}
