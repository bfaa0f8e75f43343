//! Where no library is touched.

use std::path::Path;

use super::AttachError;

/// As [`super::attach`].
pub fn attach(_path: &Path) -> Result<(), AttachError> {
    Err(AttachError::Unsupported)
}
