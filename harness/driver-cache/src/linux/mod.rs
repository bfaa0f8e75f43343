//! The cache put into a library's own table of imported functions.

mod driver_api;
mod elf_imports;
mod got_slot;
mod hook;
mod hooks;
mod process_map;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use twinfer_libraries::is_version_of;

use self::{got_slot::Slot, hooks::lookup, process_map::Mapping};
use super::AttachError;

/// As [`super::attach`].
pub fn attach(path: &Path) -> Result<(), AttachError> {
    let slots = Slot::all(path, "dlsym", &lookup::known_functions())?;
    slots.iter().try_for_each(lookup::redirect)?;
    Ok(())
}

/// The file of the library that the dynamic loader finds by `name`, which is loaded and stays so.
pub fn load(name: &str) -> Result<PathBuf, AttachError> {
    got_slot::load(name)?;
    let is_it = |mapping: &Mapping| {
        let file = Path::new(&mapping.path).file_name().and_then(OsStr::to_str);
        file.is_some_and(|file| is_version_of(file, name))
    };
    let found = Mapping::all()?.into_iter().find(is_it).ok_or(AttachError::NotLoaded)?;
    Ok(found.path.into())
}
