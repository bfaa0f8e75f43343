//! The cache put into a library's own table of imported functions.

mod import;
mod lookup;
mod mapping;
mod slot;

use std::path::Path;

use self::slot::Slot;
use super::AttachError;

/// As [`super::attach`].
pub fn attach(path: &Path) -> Result<(), AttachError> {
    let slots = Slot::all(path, "dlsym", &lookup::known_functions())?;
    slots.iter().try_for_each(lookup::redirect)?;
    Ok(())
}
