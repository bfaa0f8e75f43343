//! What makes files last beyond a loss of power.

use std::{
    fmt,
    fs::{self, File},
    io,
    path::Path,
};

use crate::StoreError;

/// A disk that keeps files and folders for certain once they are synced, and not before.
///
/// A file that is synced keeps its contents, and a folder that is synced keeps the names in it. Tests put a disk in this place that
/// loses the rest.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Waits until the contents of `file`, which is at `path`, are on disk.
    fn sync_file(&self, file: &File, path: &Path) -> io::Result<()>;

    /// Waits until the names in the folder at `path` are on disk.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
}

/// The disk of this computer.
#[derive(Clone, Copy, Debug)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn sync_file(&self, file: &File, _path: &Path) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

/// Syncs the folder that `path` is in.
pub fn sync_parent(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    disk.sync_folder(parent).map_err(StoreError::writing(parent))
}

/// Syncs everything in the folder at `path`, and the folder, but not its name. Links are left out.
pub fn sync_tree(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(path).map_err(StoreError::file(path))? {
        let entry = entry.map_err(StoreError::file(path))?;
        let (path, found) = (entry.path(), entry.file_type().map_err(StoreError::file(path))?);
        if found.is_dir() {
            sync_tree(disk, &path)?;
        } else if found.is_file() {
            sync_file(disk, &path)?;
        }
    }
    disk.sync_folder(path).map_err(StoreError::writing(path))
}

/// Syncs the file at `path`.
pub fn sync_file(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    let sync = || disk.sync_file(&File::open(path)?, path);
    sync().map_err(StoreError::writing(path))
}
