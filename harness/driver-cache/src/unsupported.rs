//! Where no library is touched.

use std::path::{Path, PathBuf};

use super::AttachError;

/// As [`super::attach`].
pub fn attach(_path: &Path) -> Result<(), AttachError> {
    Err(AttachError::Unsupported)
}

/// As [`super::attach_named`] finds it.
pub fn load(_name: &str) -> Result<PathBuf, AttachError> {
    Err(AttachError::Unsupported)
}
