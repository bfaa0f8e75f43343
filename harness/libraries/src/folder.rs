use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Error, Product, product::is_version_of};

/// The libraries found in a folder of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub product: Product,
    /// The version in the file names: `10.7.0`, only the major version, or `unknown`.
    pub version: String,
    /// The library to load first, then the others of the product.
    pub files: Vec<String>,
    pub directory: PathBuf,
}

/// Looks for the libraries of a product in `path`: the folder itself, its `lib`, or the folder of a file.
pub(crate) fn inspect(path: &Path) -> Result<Found, Error> {
    let nothing = || Error::NoLibraries { path: path.to_owned() };
    let folder = if path.is_file() { path.parent().ok_or_else(nothing)? } else { path };
    let candidates = [folder.to_owned(), folder.join("lib")];
    candidates.iter().find_map(|candidate| libraries_in(candidate)).ok_or_else(nothing)
}

fn libraries_in(folder: &Path) -> Option<Found> {
    let directory = fs::canonicalize(folder).ok()?;
    let names: Vec<String> = fs::read_dir(&directory)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let Selection { product, version, files } = select(names)?;
    Some(Found { product, version, files, directory })
}

/// The libraries of a product among file names.
pub(crate) struct Selection {
    pub product: Product,
    /// The version in the file names: `10.7.0`, only the major version, or `unknown`.
    pub version: String,
    /// The library to load first, then the others of the product.
    pub files: Vec<String>,
}

/// The libraries of the most specific product that the files `names` make up; `None` if they make up none.
pub(crate) fn select(mut names: Vec<String>) -> Option<Selection> {
    names.sort();
    let product = Product::of_files(&names)?;
    let stems = product.required_stems().iter().chain(product.optional_stems());
    let mut files: Vec<String> = stems.filter_map(|stem| shortest_versioned(&names, stem)).collect();
    if product == Product::Tensorrt {
        files.extend(names.iter().filter(|name| name.starts_with(BUILDER_RESOURCE)).cloned());
    }
    Some(Selection { product, version: version_of(&names, product), files })
}

/// The libraries of kernels that TensorRT opens while it builds; there may be one per GPU architecture.
const BUILDER_RESOURCE: &str = "libnvinfer_builder_resource";

/// `libnvinfer.so.10` before `libnvinfer.so.10.7.0` and before the development link `libnvinfer.so`.
fn shortest_versioned(names: &[String], stem: &str) -> Option<String> {
    let mut versions: Vec<&String> = names.iter().filter(|name| is_version_of(name, stem)).collect();
    versions.sort_by_key(|name| (name.len() == stem.len(), name.len()));
    versions.first().map(|name| (*name).clone())
}

/// The longest version that a file of the product carries in its name.
fn version_of(names: &[String], product: Product) -> String {
    let builder_resource = format!("{BUILDER_RESOURCE}.so");
    let stems = product.required_stems().iter().copied().chain([builder_resource.as_str()]);
    let versions = stems.flat_map(|stem| {
        names.iter().filter_map(move |name| {
            name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.')).map(str::to_owned)
        })
    });
    versions.max_by_key(String::len).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Found, inspect};
    use crate::{Error, Product};

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        folder
    }

    #[test]
    fn tensorrt_folder_is_identified_by_its_files() {
        let folder = folder_with(&[
            "libnvinfer.so",
            "libnvinfer.so.10",
            "libnvinfer.so.10.7.0",
            "libnvonnxparser.so.10",
            "libnvinfer_plugin.so.10",
            "libnvinfer_builder_resource.so.10.7.0",
        ]);
        let Found { product, version, files, .. } = inspect(folder.path()).unwrap();
        assert_eq!((product, version.as_str()), (Product::Tensorrt, "10.7.0"));
        assert_eq!(
            files,
            [
                "libnvinfer.so.10",
                "libnvonnxparser.so.10",
                "libnvinfer_plugin.so.10",
                "libnvinfer_builder_resource.so.10.7.0",
            ]
        );
    }

    #[test]
    fn lib_folder_of_a_distribution_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let lib = folder.path().join("lib");
        fs::create_dir(&lib).unwrap();
        fs::write(lib.join("libonnxruntime.so.1.31.1"), "").unwrap();
        let found = inspect(folder.path()).unwrap();
        assert_eq!((found.product, found.version.as_str()), (Product::Onnxruntime, "1.31.1"));
        assert!(found.directory.ends_with("lib"));
    }

    #[test]
    fn missing_parser_beside_tensorrt_is_reported() {
        let folder = folder_with(&["libnvinfer.so.10"]);
        assert!(matches!(inspect(folder.path()), Err(Error::NoLibraries { .. })));
    }
}
