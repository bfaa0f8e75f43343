//! Files that are written completely or not at all.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use twinfer_case::{MAX_FILE_BYTES, read_file, read_file_in};

use crate::{
    StoreError,
    disk::{Disk, sync_parent},
};

/// The prefix of the names of files and folders that are being written.
const UNFINISHED: &str = ".unfinished-";

/// Reads a JSON file that this crate writes.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let bytes = read_file(path, MAX_FILE_BYTES).map_err(StoreError::file(path))?;
    serde_json::from_slice(&bytes).map_err(StoreError::format(path))
}

/// Reads the JSON file `name` of `folder`, which may be foreign: nothing outside the folder is read.
pub fn read_json_in<T: DeserializeOwned>(folder: &Path, name: impl AsRef<Path>) -> Result<T, StoreError> {
    let path = folder.join(&name);
    let bytes = read_file_in(folder, name).map_err(StoreError::file(&path))?;
    serde_json::from_slice(&bytes).map_err(StoreError::format(path))
}

/// Writes `value` as JSON to the file at `path`, completely or not at all.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    write(path, json(path, value)?.as_bytes())
}

/// Writes `value` as JSON to the file at `path`, so that a loss of power leaves it complete, or what was there before.
pub fn write_json_durably(disk: &dyn Disk, path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    write_and(path, json(path, value)?.as_bytes(), |file, unfinished| disk.sync_file(file, unfinished))?;
    sync_parent(disk, path)
}

fn json(path: &Path, value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(StoreError::format(path))
}

/// Writes `bytes` to the file at `path`, completely or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_and(path, bytes, |_, _| Ok(()))
}

/// Writes `bytes` to the file at `path`, completely or not at all; `complete` gets the file before it has its name.
fn write_and(
    path: &Path,
    bytes: &[u8],
    complete: impl FnOnce(&File, &Path) -> io::Result<()>,
) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        complete(file.as_file(), file.path())?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(StoreError::writing(path))
}

/// The unfinished folder that becomes `folder` when it is complete.
pub fn unfinished(folder: &Path) -> PathBuf {
    let mut name = OsString::from(UNFINISHED);
    name.push(folder.file_name().unwrap_or_default());
    folder.with_file_name(name)
}

/// Whether a file or folder was being written by a process that was killed, or still is.
pub fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()))
}

/// Removes the unfinished files and folders that a killed process left in `folder`, and no link.
pub fn remove_unfinished(folder: &Path) -> Result<(), StoreError> {
    let entries = fs::read_dir(folder).map_err(StoreError::file(folder))?;
    for entry in entries.filter_map(Result::ok).filter(|entry| is_unfinished(&entry.path())) {
        let path = entry.path();
        match entry.file_type() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&path),
            Ok(found) if found.is_file() => fs::remove_file(&path),
            _ => Ok(()),
        }
        .map_err(StoreError::writing(path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_files_are_removed_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let names = |folder: &Path| {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
        };
        write(&folder.path().join("finding.json"), b"{}").unwrap();
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder.path()).unwrap();
        unfinished.keep().unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        remove_unfinished(folder.path()).unwrap();
        assert_eq!(names(folder.path()), ["finding.json"]);
    }
}
