use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use zip::{ZipArchive, result::ZipError};

use crate::{
    Error, Package, Product,
    digest::sha256,
    folder::{Selection, select},
    wheel_metadata::WheelMetadata,
};

/// The bits of a file's mode that make it a program.
const EXECUTABLE: u32 = 0o111;
/// The largest library to unpack, in bytes. A wheel that claims more is refused.
const LARGEST_LIBRARY: u64 = 4 << 30;

/// Checks that `wheel` has the pinned hash.
pub(crate) fn verify(wheel: &Path, package: &Package) -> Result<(), Error> {
    let actual = sha256(wheel)?;
    if actual.as_str() == package.sha256 {
        return Ok(());
    }
    Err(Error::WrongHash {
        path: wheel.to_owned(),
        expected: package.sha256.to_owned(),
        actual: actual.to_string(),
    })
}

/// Libraries in a wheel that is not one of the pinned ones.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    pub metadata: WheelMetadata,
    pub product: Product,
    /// The folder of the wheel that holds the libraries; empty for its top.
    pub folder: String,
    /// The libraries; the first is the one to load.
    pub files: Vec<String>,
}

/// Looks for the libraries of a product in a wheel: all in one folder.
pub(crate) fn inspect(wheel: &Path) -> Result<Contents, Error> {
    let mut archive = open(wheel)?;
    let metadata = WheelMetadata::read(&mut archive, wheel)?;
    let mut by_folder: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // a name that is no text is none of a library
    for path in archive.file_names().flatten() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        by_folder.entry(folder.to_owned()).or_default().push(name.to_owned());
    }
    let selected = by_folder.into_iter().find_map(|(folder, names)| Some((folder, select(names)?)));
    let (folder, Selection { product, files, .. }) =
        selected.ok_or_else(|| Error::NoLibrariesInWheel { path: wheel.to_owned() })?;
    Ok(Contents { metadata, product, folder, files })
}

fn open(wheel: &Path) -> Result<ZipArchive<File>, Error> {
    let file = File::open(wheel).map_err(Error::io("open", wheel))?;
    ZipArchive::new(file).map_err(fault(wheel, "its index"))
}

pub(crate) fn fault(wheel: &Path, file: &str) -> impl FnOnce(ZipError) -> Error {
    let (wheel, file) = (wheel.to_owned(), file.to_owned());
    move |source| Error::Wheel { wheel, file, source }
}

/// Unpacks `files` from one folder of a wheel into `directory`, and nothing else.
pub(crate) fn unpack(
    wheel: &Path,
    folder: &str,
    files: &[impl AsRef<str>],
    directory: &Path,
) -> Result<(), Error> {
    let mut archive = open(wheel)?;
    files.iter().map(AsRef::as_ref).try_for_each(|name| {
        let inside = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        unpack_one(&mut archive, &inside, &directory.join(name)).map_err(fault(wheel, &inside))
    })
}

fn unpack_one(archive: &mut ZipArchive<File>, inside: &str, target: &Path) -> Result<(), ZipError> {
    let entry = archive.by_name(inside)?;
    let expected = entry.size();
    if expected > LARGEST_LIBRARY {
        return Err(ZipError::InvalidArchive("the library is larger than 4 GiB".into()));
    }
    let is_program = entry.unix_mode().is_some_and(|mode| mode & EXECUTABLE != 0);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(if is_program { 0o777 } else { 0o666 })
        .open(target)?;
    if io::copy(&mut entry.take(expected), &mut file)? == expected {
        Ok(())
    } else {
        Err(ZipError::InvalidArchive("the library is cut short".into()))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        os::unix::fs::PermissionsExt,
        path::{Path, PathBuf},
    };

    use tempfile::TempDir;
    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::{inspect, unpack, verify};
    use crate::{Error, Hashing, Package, Store, wheel_fixture::wheel_with};

    fn unpack_package(wheel: &Path, directory: &Path) -> Result<(), Error> {
        let package = Package::named("onnxruntime").unwrap();
        unpack(wheel, package.folder, package.files, directory)
    }

    const LIBRARIES: [(&str, &str); 4] = [
        ("onnxruntime/capi/libonnxruntime.so.1.31.1", "the runtime"),
        ("onnxruntime/capi/libonnxruntime_providers_shared.so", "the providers"),
        ("onnxruntime/capi/state.py", "not a library"),
        ("../../escaped.so", "outside"),
    ];

    #[test]
    fn only_the_libraries_are_unpacked() {
        let (_wheel, path) = wheel_with(&LIBRARIES);
        let target = tempfile::tempdir().unwrap();
        unpack_package(&path, target.path()).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(target.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["libonnxruntime.so.1.31.1", "libonnxruntime_providers_shared.so"]);
        assert_eq!(fs::read_to_string(target.path().join(&names[0])).unwrap(), "the runtime");
    }

    #[test]
    fn program_of_a_wheel_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sanitizer.whl");
        let mut wheel = ZipWriter::new(File::create(&path).unwrap());
        let package = Package::named("compute-sanitizer").unwrap();
        for name in package.files {
            let mode = if name.starts_with("lib") { 0o644 } else { 0o755 };
            let options = SimpleFileOptions::default().unix_permissions(mode);
            wheel.start_file(format!("{}/{name}", package.folder), options).unwrap();
        }
        wheel.finish().unwrap();
        unpack(&path, package.folder, package.files, folder.path()).unwrap();
        let is_program =
            |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o100 != 0;
        assert!(is_program("compute-sanitizer") && !is_program("libsanitizer-public.so"));
    }

    #[test]
    fn error_names_the_library_missing_from_a_wheel() {
        let (_wheel, path) = wheel_with(&LIBRARIES[..1]);
        let target = tempfile::tempdir().unwrap();
        let error = unpack_package(&path, target.path()).unwrap_err();
        assert!(error.to_string().contains("libonnxruntime_providers_shared.so"), "{error}");
    }

    #[test]
    fn truncated_wheel_is_an_error() {
        let (_wheel, path) = wheel_with(&LIBRARIES);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let target = tempfile::tempdir().unwrap();
        let result = unpack_package(&path, target.path());
        assert!(matches!(result, Err(Error::Wheel { .. })));
    }

    #[test]
    fn replaced_wheel_is_not_the_pinned_one() {
        let (_wheel, path) = wheel_with(&LIBRARIES);
        let result = verify(&path, Package::named("onnxruntime").unwrap());
        assert!(matches!(result, Err(Error::WrongHash { .. })));
    }

    /// A wheel of TensorRT with this version in its metadata.
    fn tensorrt_wheel(file: &str, version: &str) -> (TempDir, PathBuf) {
        let metadata = format!("Metadata-Version: 2.1\nName: tensorrt_cu12_libs\nVersion: {version}\n");
        let (folder, path) = wheel_with(&[
            ("tensorrt_cu12_libs-10.7.0.dist-info/METADATA", &metadata),
            ("tensorrt_libs/__init__.py", ""),
            ("tensorrt_libs/libnvinfer.so.10", "core"),
            ("tensorrt_libs/libnvinfer_plugin.so.10", "plugins"),
            ("tensorrt_libs/libnvinfer_builder_resource.so.10.7.0", "kernels"),
            ("tensorrt_libs/libnvonnxparser.so.10", "parser"),
            ("../../libnvinfer.so.10", "outside"),
        ]);
        let named = folder.path().join(file);
        fs::rename(path, &named).unwrap();
        (folder, named)
    }

    const WHEEL: &str = "tensorrt_cu12_libs-10.7.0-py2.py3-none-manylinux_2_17_x86_64.whl";

    #[test]
    fn wheel_from_elsewhere_is_installed_by_its_metadata() {
        let (_wheel, path) = tensorrt_wheel(WHEEL, "10.7.0");
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let installed = store.install(path.to_str().unwrap(), &mut |_| {}).unwrap();
        assert_eq!((installed.name.as_str(), installed.version.as_str()), ("tensorrt-10.7", "10.7.0"));
        assert_eq!(store.find("tensorrt-10.7").unwrap(), installed);
        assert_eq!(fs::read_to_string(installed.library()).unwrap(), "core");
        assert_eq!(installed.files.len(), 4);
        assert!(!home.path().join("../libnvinfer.so.10").exists());
        fs::write(installed.library(), "evil").unwrap();
        let damage = store.verify(&[installed], Hashing::Full).unwrap_err().to_string();
        assert!(
            damage.ends_with("run `twinfer backends install path/to/tensorrt_cu12_libs-10.7.0-….whl`"),
            "{damage}"
        );
        store.install(path.to_str().unwrap(), &mut |_| {}).unwrap();
        store.verify(&[store.find("tensorrt-10.7").unwrap()], Hashing::Full).unwrap();
    }

    #[test]
    fn wheel_with_other_metadata_is_refused() {
        let (_wheel, path) = tensorrt_wheel(WHEEL, "10.8.0");
        let error = inspect(&path).unwrap_err().to_string();
        assert!(error.contains("it is tensorrt_cu12_libs 10.8.0"), "{error}");
        let (_wheel, path) = tensorrt_wheel("libs.whl", "10.7.0");
        assert!(matches!(inspect(&path), Err(Error::Metadata { .. })));
    }

    #[test]
    fn wheel_without_libraries_says_what_is_expected() {
        let metadata = "Name: tensorrt\nVersion: 10.7.0\n";
        let (folder, path) = wheel_with(&[("tensorrt-10.7.0.dist-info/METADATA", metadata)]);
        let named = folder.path().join("tensorrt-10.7.0-py3-none-any.whl");
        fs::rename(path, &named).unwrap();
        let error = inspect(&named).unwrap_err().to_string();
        assert!(error.contains("tensorrt_cu12_libs"), "{error}");
    }
}
