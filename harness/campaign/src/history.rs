//! The *history* of a case: what its worker ran before it, oldest first. It is kept in the folder of a finding that needs
//! it, as `preceding/0000.json` and so on.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use twinfer_case::Case;

use crate::{
    CampaignError,
    case_folder::{read_case_in, write_materialized},
    prepared::Prepared,
};

/// Writes a history, which may be empty, to the folder of a finding.
pub fn write_history(finding: &Path, history: &[Arc<Prepared>]) -> Result<(), CampaignError> {
    if history.is_empty() {
        return Ok(());
    }
    let folder = finding.join(FOLDER);
    fs::create_dir_all(&folder).map_err(CampaignError::writing(&folder))?;
    let mut cases = history.iter().enumerate();
    cases.try_for_each(|(index, prepared)| write_materialized(&finding.join(file(index)), prepared))
}

/// The history in the folder of a finding, empty where it needs none.
pub fn read_history(finding: &Path) -> Result<Vec<Case>, CampaignError> {
    files(finding).map(|name| read_case_in(finding, name)).collect()
}

/// The files of the history in the folder of a finding, in order, as paths in that folder.
pub fn files(finding: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    (0..).map(file).take_while(|name| finding.join(name).is_file())
}

/// Where a history is kept.
const FOLDER: &str = "preceding";

fn file(index: usize) -> PathBuf {
    Path::new(FOLDER).join(format!("{index:04}.json"))
}
