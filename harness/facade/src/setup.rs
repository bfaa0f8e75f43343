//! What variants need of a machine before their workers start.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use twinfer_case::{Backend, Variant};
use twinfer_libraries::{Installed, Loader};

use crate::Error;

/// The name of the library that a variant runs on; none where it brings its own.
pub fn library_of(variant: &Variant) -> Option<String> {
    if variant.options.contains_key("lib") {
        return None;
    }
    let product = match variant.backend {
        Backend::Golden | Backend::External(_) => return None,
        Backend::OrtCpu => "onnxruntime",
        Backend::OrtCuda => "onnxruntime-cuda",
        Backend::Trt | Backend::TrtApi => "tensorrt",
        Backend::TrtRtx => "tensorrt-rtx",
    };
    Some(match variant.options.get("version") {
        Some(version) => format!("{product}-{version}"),
        None => product.to_owned(),
    })
}

/// The loader's search path with the stand-ins that this machine needs behind it; none where it needs none.
pub fn search_path(libraries: &[Installed]) -> Result<Option<String>, Error> {
    if libraries.iter().all(|library| library.stand_ins.is_none()) {
        return Ok(None);
    }
    let loader = Loader::of_this_machine();
    let folders: Vec<PathBuf> = libraries.iter().filter_map(|library| loader.stand_ins(library)).collect();
    if folders.is_empty() { Ok(None) } else { joined(env::var_os("LD_LIBRARY_PATH"), &folders).map(Some) }
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

    fn of(variant: &str) -> Option<String> {
        library_of(&variant.parse().unwrap())
    }

    #[test]
    fn a_variant_runs_on_the_library_of_its_product_and_version() {
        assert_eq!(of("ort:cpu,opt=off").as_deref(), Some("onnxruntime"));
        assert_eq!(of("trt,version=8.5").as_deref(), Some("tensorrt-8.5"));
        assert_eq!(of("trt-rtx").as_deref(), Some("tensorrt-rtx"));
    }

    #[test]
    fn a_variant_that_brings_its_own_library_needs_none_installed() {
        assert_eq!(of("trt,lib=/opt/tensorrt"), None);
        assert_eq!(of("external:./adapter.py"), None);
        assert_eq!(of("golden"), None);
    }

    #[test]
    fn stand_ins_come_after_everything_that_the_user_set() {
        let path = joined(Some("/cuda/lib::/opt/lib".into()), &["/home/stand-ins".into()]).unwrap();
        assert_eq!(path, "/cuda/lib:/opt/lib:/home/stand-ins");
    }
}
