use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    StoreError,
    names::{DEBUG_LOG, RUN},
};

/// The directory that a run is written to: `out`, which must not hold a run unless that run is resumed, or a new folder if
/// `out` is `None`.
pub fn run_directory(out: Option<&Path>, resumes: bool) -> Result<PathBuf, StoreError> {
    let Some(out) = out else { return new_run_directory() };
    if !resumes && has_run(out) {
        return Err(StoreError::Occupied(out.to_owned()));
    }
    Ok(out.to_owned())
}

/// Whether `directory` holds a run, complete or not.
pub fn has_run(directory: &Path) -> bool {
    directory.join(RUN).exists()
}

/// The path of the debug log in a run directory.
pub fn debug_log(directory: &Path) -> PathBuf {
    directory.join(DEBUG_LOG)
}

/// Creates a new run directory, the first of `runs/0001`, `runs/0002`, … that does not exist.
pub fn new_run_directory() -> Result<PathBuf, StoreError> {
    new_run_directory_in(Path::new("runs"))
}

/// Creates a new run directory in `parent`, the first of `0001`, `0002`, … that does not exist.
pub fn new_run_directory_in(parent: &Path) -> Result<PathBuf, StoreError> {
    let failed = |source: io::Error| StoreError::NoRunDirectory { parent: parent.to_owned(), source };
    fs::create_dir_all(parent).map_err(failed)?;
    for number in 1..=LAST {
        let directory = parent.join(format!("{number:04}"));
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

const LAST: u32 = 9999;

#[cfg(test)]
mod tests {
    use super::new_run_directory_in;

    #[test]
    fn each_run_gets_its_own_directory() {
        let parent = tempfile::tempdir().unwrap();
        let runs = parent.path().join("runs");
        assert!(new_run_directory_in(&runs).unwrap().ends_with("0001"));
        assert!(new_run_directory_in(&runs).unwrap().ends_with("0002"));
    }
}
