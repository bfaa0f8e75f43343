//! Finds the files of a release: the core library, the ONNX parser and the libraries they need.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Error, Product, Result};

/// Names of the core library, newest release first.
const CORE: [&str; 6] = [
    "libnvinfer.so.11",
    "libnvinfer.so.10",
    "libnvinfer.so.9",
    "libnvinfer.so.8",
    "libtensorrt_rtx.so.1",
    "libtensorrt_rtx.so",
];

/// The core library at `path`, which is the library itself or the folder that holds it.
pub fn core(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return canonical(path);
    }
    let mut found: Vec<(&str, PathBuf)> = Vec::new();
    for name in CORE {
        let candidate = path.join(name);
        if candidate.is_file() {
            let candidate = canonical(&candidate)?;
            if !found.iter().any(|(_, other)| *other == candidate) {
                found.push((name, candidate));
            }
        }
    }
    match found.len() {
        0 => Err(Error::NotFound { path: path.to_owned(), tried: CORE.join(", ") }),
        1 => Ok(found.remove(0).1),
        _ => Err(Error::Ambiguous {
            path: path.to_owned(),
            found: found.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The ONNX parser beside the core library.
pub fn parser(core: &Path, product: Product, major: u32) -> Result<PathBuf> {
    let folder = core.parent().unwrap_or(Path::new("."));
    let names = match product {
        Product::TensorRt => [format!("libnvonnxparser.so.{major}"), "libnvonnxparser.so".to_owned()],
        Product::TensorRtRtx => {
            [format!("libtensorrt_onnxparser_rtx.so.{major}"), "libtensorrt_onnxparser_rtx.so".to_owned()]
        }
    };
    names
        .iter()
        .map(|name| folder.join(name))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| Error::NotFound { path: folder.to_owned(), tried: names.join(", ") })
}

/// Libraries beside the core library that others need by name and that must be loaded first.
pub fn companions(core: &Path, prefix: &str) -> Vec<PathBuf> {
    let folder = core.parent().unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| Error::Load { path: path.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_library_names_what_was_looked_for() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let message = core(folder.path()).expect_err("empty folder").to_string();
        assert!(message.contains("libnvinfer.so.8") && message.contains("libtensorrt_rtx.so.1"), "{message}");
    }

    #[test]
    fn a_folder_with_two_releases_asks_for_the_file() {
        let folder = tempfile::tempdir().expect("temporary folder");
        for name in ["libnvinfer.so.8", "libtensorrt_rtx.so.1"] {
            fs::write(folder.path().join(name), "").expect("write");
        }
        let error = core(folder.path()).expect_err("two releases");
        assert!(matches!(error, Error::Ambiguous { .. }), "{error}");
    }

    #[test]
    fn a_link_and_its_target_are_one_library() {
        let folder = tempfile::tempdir().expect("temporary folder");
        fs::write(folder.path().join("libtensorrt_rtx.so.1"), "").expect("write");
        std::os::unix::fs::symlink("libtensorrt_rtx.so.1", folder.path().join("libtensorrt_rtx.so"))
            .expect("link");
        let found = core(folder.path()).expect("one release");
        assert_eq!(found.file_name().and_then(|name| name.to_str()), Some("libtensorrt_rtx.so.1"));
    }
}
