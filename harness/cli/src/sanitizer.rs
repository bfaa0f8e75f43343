//! Where NVIDIA's compute-sanitizer is.

use std::{
    env,
    path::{Path, PathBuf},
};

use twinfer_libraries::{Loader, Product, Store};
use twinfer_targets::Sanitizer;

use crate::Failure;

/// The installed sanitizer, or else the one on PATH.
pub fn find() -> Result<Sanitizer, Failure> {
    if !Loader::of_this_machine().has_cuda_device() {
        return Err(Failure::environment(
            "compute-sanitizer watches kernels on an NVIDIA GPU, and this machine has none: leave --sanitize out",
        ));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    find_in(&Store::open()?, env::split_paths(&path))
}

fn find_in(store: &Store, mut folders: impl Iterator<Item = PathBuf>) -> Result<Sanitizer, Failure> {
    let name = Product::ComputeSanitizer.to_string();
    if let Ok(installed) = store.find(&name) {
        return Ok(Sanitizer::new(installed.library()));
    }
    let on_path =
        folders.find_map(|folder| Some(folder.join(&name)).filter(|program: &PathBuf| is_file(program)));
    on_path.map(Sanitizer::new).ok_or_else(|| {
        Failure::environment(format!(
            "{name} is neither installed nor on PATH: install it with `twinfer backends install {name}`"
        ))
    })
}

fn is_file(path: &Path) -> bool {
    path.is_absolute() && path.is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn sanitizer_on_path_is_found_and_a_missing_one_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("libraries"));
        let folders = || [PathBuf::from("."), folder.path().to_owned()].into_iter();
        let missing = find_in(&store, folders()).unwrap_err();
        assert!(missing.to_string().contains("twinfer backends install compute-sanitizer"), "{missing}");
        let program = folder.path().join("compute-sanitizer");
        fs::write(&program, "").unwrap();
        assert_eq!(find_in(&store, folders()).unwrap(), Sanitizer::new(program));
    }
}
