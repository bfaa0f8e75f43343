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

/// The history in the folder of a finding; empty if the finding needs none.
pub fn read_preceding(finding: &Path) -> Result<Vec<Case>, StoreError> {
    files(finding).map(|name| read_case_in(finding, name)).collect()
}

/// The files of the history in the folder of a finding, in order, as paths in that folder.
pub fn files(finding: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    (0..).map(file).take_while(|name| finding.join(name).is_file())
}

fn file(index: usize) -> PathBuf {
    Path::new(PRECEDING).join(format!("{index:04}.json"))
}
