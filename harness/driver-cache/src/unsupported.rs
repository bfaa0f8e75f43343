//! The platforms on which no library is attached.

use std::path::{Path, PathBuf};

use twinfer_case::{OutOfBoundsWrite, Stage};

use crate::AttachError;

/// Always [`AttachError::Unsupported`].
pub fn attach(_path: &Path) -> Result<(), AttachError> {
    Err(AttachError::Unsupported)
}

/// Always [`AttachError::Unsupported`].
pub fn load(_name: &str) -> Result<PathBuf, AttachError> {
    Err(AttachError::Unsupported)
}

/// Always `None`.
pub const fn missing() -> Option<&'static str> {
    None
}

/// Always none.
pub const fn take_writes(_stage: Stage) -> Vec<OutOfBoundsWrite> {
    Vec::new()
}
