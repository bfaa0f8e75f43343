use std::path::{Path, PathBuf};

use crate::{StoreError, files::write, names::PAGE};

/// Writes the report on the run in `run_directory` as a web page, in place of an earlier one, and returns its path.
pub fn write_page(run_directory: &Path, page: &str) -> Result<PathBuf, StoreError> {
    let path = run_directory.join(PAGE);
    write(&path, page.as_bytes())?;
    Ok(path)
}

/// The name of the page in `run_directory` that reports on the run; `None` if there is none.
pub fn page_of(run_directory: &Path) -> Option<&'static Path> {
    run_directory.join(PAGE).is_file().then(|| Path::new(PAGE))
}
