//! Redirects a loaded library to the cache by one word of its global offset table.

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

use twinfer_case::{OutOfBoundsWrite, Stage};
use twinfer_libraries::is_version_of;

use self::{driver_api::DriverApi, got_slot::GotSlot, hooks::lookup, process_map::Mapping};
use crate::{AttachError, poison::GUARDED_BLOCKS, process_mode};

/// Redirects the loaded library whose file is `path`.
pub fn attach(path: &Path) -> Result<(), AttachError> {
    let slots = GotSlot::all(path, "dlsym", &lookup::known_addresses())?;
    slots.iter().try_for_each(lookup::redirect)?;
    Ok(())
}

/// Loads the library that the dynamic loader finds under `name`, until the process ends, and returns its file.
pub fn load(name: &str) -> Result<PathBuf, AttachError> {
    got_slot::load(name)?;
    let is_library = |mapping: &Mapping| {
        let file = Path::new(&mapping.path).file_name().and_then(OsStr::to_str);
        file.is_some_and(|file| is_version_of(file, name))
    };
    let found = Mapping::all()?.into_iter().find(is_library).ok_or(AttachError::NotLoaded)?;
    Ok(found.path.into())
}

/// What of the driver was not found; `None` if all was, or if no library has looked up a function yet.
pub fn missing() -> Option<&'static str> {
    DriverApi::missing()
}

/// Returns the writes behind blocks that were found since the last call.
pub fn take_writes(stage: Stage) -> Vec<OutOfBoundsWrite> {
    let poison = process_mode::pattern().zip(DriverApi::get());
    poison.map_or_else(Vec::new, |(pattern, api)| GUARDED_BLOCKS.take_writes(stage, pattern, api))
}
