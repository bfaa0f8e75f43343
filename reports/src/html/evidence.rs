//! The folder of the run, from which the page shows what the report does not hold.

use std::path::{Path, PathBuf};

/// The folder of a run, as it is read, as commands name it, and as the page links to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    /// The path from which it is read and that commands name.
    pub path: PathBuf,
    /// The path from the folder of the page; empty if the page lies in the run's folder.
    pub from_page: PathBuf,
}

impl RunFolder {
    /// The folder of the run in `path`, for a page that lies in it.
    pub fn around_page(path: &Path) -> Self {
        Self { path: path.to_owned(), from_page: PathBuf::new() }
    }
}
