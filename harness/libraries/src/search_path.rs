//! The dynamic loader's search path for a process that loads installed libraries.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{Error, Installed, Loader, Product};

/// The variable that holds the dynamic loader's search path.
pub const SEARCH_PATH_VARIABLE: &str = "LD_LIBRARY_PATH";

/// The value of [`SEARCH_PATH_VARIABLE`] for a process that loads `libraries`: this process's own value, then the lean
/// runtimes, which builders look for by name, the plugin of TensorRT-RTX, which does not look beside itself for what it links, and
/// the stand-ins that this machine needs. `None` if it needs none.
pub fn search_path(libraries: &[Installed]) -> Result<Option<String>, Error> {
    let is_looked_for =
        |product| matches!(product, Product::TensorrtLean | Product::OnnxruntimeEpTensorrtRtx);
    let by_name = libraries.iter().filter(|library| is_looked_for(library.product));
    let mut folders: Vec<PathBuf> = by_name.map(|library| library.directory.clone()).collect();
    if libraries.iter().any(|library| library.stand_ins.is_some()) {
        let loader = Loader::of_this_machine();
        folders.extend(libraries.iter().filter_map(|library| loader.stand_ins(library)));
    }
    if folders.is_empty() {
        return Ok(None);
    }
    joined(env::var_os(SEARCH_PATH_VARIABLE), &folders).map(Some)
}

fn joined(inherited: Option<OsString>, folders: &[PathBuf]) -> Result<String, Error> {
    let inherited = inherited.unwrap_or_default();
    let present = env::split_paths(&inherited).filter(|path| path != Path::new(""));
    let path = env::join_paths(present.chain(folders.iter().cloned()));
    path.ok().and_then(|path| path.into_string().ok()).ok_or(Error::SearchPath)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_come_last_on_the_search_path() {
        let path = joined(Some("/cuda/lib::/opt/lib".into()), &["/home/stand-ins".into()]).unwrap();
        assert_eq!(path, "/cuda/lib:/opt/lib:/home/stand-ins");
    }

    #[test]
    fn lean_runtime_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libnvinfer_lean.so.8.6.0"), "lean").unwrap();
        let store = crate::Store::at(folder.path().join("store"));
        let installed = store.install(&folder.path().to_string_lossy(), &mut |_| {}).unwrap();
        assert_eq!((installed.name.as_str(), installed.version.as_str()), ("tensorrt-lean-8.6", "8.6.0"));
        let path = search_path(std::slice::from_ref(&installed)).unwrap().unwrap();
        assert!(env::split_paths(&path).any(|part| part == installed.directory));
    }

    #[test]
    fn folder_with_separator_in_its_name_is_an_error() {
        assert!(matches!(joined(None, &["/home/a:b".into()]), Err(Error::SearchPath)));
    }
}
