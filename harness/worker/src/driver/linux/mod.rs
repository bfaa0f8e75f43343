//! The cache put into a library's own table of imported functions.

mod import;
mod lookup;
mod mapping;
mod slot;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use self::{mapping::Mapping, slot::Slot};
use super::AttachError;

/// As [`super::attach`].
pub fn attach(path: &Path) -> Result<(), AttachError> {
    let slots = Slot::all(path, "dlsym", &lookup::known_functions())?;
    slots.iter().try_for_each(lookup::redirect)?;
    Ok(())
}

/// The file of the library that the dynamic loader finds by `name`, which is loaded and stays so.
pub fn load(name: &str) -> Result<PathBuf, AttachError> {
    slot::load(name)?;
    let is_it =
        |mapping: &Mapping| Path::new(&mapping.path).file_name().is_some_and(|file| is_release(file, name));
    let found = Mapping::all()?.into_iter().find(is_it).ok_or(AttachError::NotLoaded)?;
    Ok(found.path.into())
}

/// Whether a file is the library of this name or, behind a link of that name, a release of it: `libcudart.so.13.0.96`.
fn is_release(file: &OsStr, name: &str) -> bool {
    let rest = file.to_str().and_then(|file| file.strip_prefix(name));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::is_release;

    #[test]
    fn a_release_has_more_numbers_behind_the_name() {
        let is_runtime = |file: &str| is_release(OsStr::new(file), "libcudart.so.13");
        assert!(["libcudart.so.13", "libcudart.so.13.0.96"].into_iter().all(is_runtime));
        assert!(!["libcudart.so.130", "libcudart.so.12", "xlibcudart.so.13"].into_iter().any(is_runtime));
    }
}
