use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::{Case, Finding};

use crate::{
    StoreError,
    case_folder::read_case,
    files::{read_json_in, remove_unfinished},
    finding_folder::has_finding,
    names::{FINDING, FINDINGS, RUN},
    recording::path_beside,
};

/// A folder with one folder per finding, named by the signature.
pub struct FindingsFolder(PathBuf);

impl FindingsFolder {
    /// The findings of the run in `run_directory`; creates the folder if it is missing.
    pub fn of_run(run_directory: &Path) -> Result<Self, StoreError> {
        let folder = run_directory.join(FINDINGS);
        fs::create_dir_all(&folder).map_err(StoreError::writing(&folder))?;
        Ok(Self(folder))
    }

    /// The folder of findings at `path`.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of the finding with the folder name `slug`.
    pub fn finding(&self, slug: &str) -> PathBuf {
        self.0.join(slug)
    }

    /// Every finding that was written completely, with its minimal case, sorted by folder name.
    pub fn load(&self) -> Result<Vec<(Finding, Case)>, StoreError> {
        let folders = self.folders()?;
        let load = |folder: &PathBuf| Ok((read_json_in(folder, FINDING)?, read_case(folder)?));
        folders.iter().filter(|folder| has_finding(folder)).map(load).collect()
    }

    /// Removes the files that a killed campaign left unfinished, and every finding whose folder name `is_known` rejects, with its
    /// recorded observations.
    pub fn keep(&self, is_known: impl Fn(&str) -> bool) -> Result<(), StoreError> {
        remove_unfinished(&self.0)?;
        for folder in self.folders()? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            if is_known(&name) {
                remove_unfinished(&folder)?;
            } else {
                remove(&folder)?;
            }
        }
        Ok(())
    }

    /// The folders of findings, sorted by name. Links are left out.
    fn folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let entries = fs::read_dir(&self.0).map_err(StoreError::file(&self.0))?;
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let mut folders: Vec<_> = paths.filter(|path| path.is_dir() && !path.is_symlink()).collect();
        folders.sort();
        Ok(folders)
    }
}

/// The folder of findings that `folder` means: that of the run if `folder` is a run directory, or else `folder` itself.
pub fn known_findings(folder: &Path) -> PathBuf {
    if folder.join(RUN).is_file() { folder.join(FINDINGS) } else { folder.to_owned() }
}

/// Removes the folder of a finding and its recorded observations.
fn remove(folder: &Path) -> Result<(), StoreError> {
    let observed = path_beside(folder);
    if observed.is_file() {
        fs::remove_file(&observed).map_err(StoreError::writing(&observed))?;
    }
    fs::remove_dir_all(folder).map_err(StoreError::writing(folder))
}
