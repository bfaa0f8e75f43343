use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use zip::{ZipArchive, result::ZipError};

use crate::{Error, PACKAGES, Package, digest::sha256};

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

/// The package to which a wheel belongs.
pub(crate) fn identify(wheel: &Path) -> Result<&'static Package, Error> {
    let hash = sha256(wheel)?;
    let known = PACKAGES.iter().find(|package| package.sha256 == hash.as_str());
    known.ok_or_else(|| Error::UnknownWheel { path: wheel.to_owned() })
}

/// Unpacks only the package's libraries into `directory`.
pub(crate) fn unpack(wheel: &Path, package: &Package, directory: &Path) -> Result<(), Error> {
    let file = File::open(wheel).map_err(Error::io("open", wheel))?;
    let fault = |file: &str| {
        let (wheel, file) = (wheel.to_owned(), file.to_owned());
        move |source| Error::Wheel { wheel, file, source }
    };
    let mut archive = ZipArchive::new(file).map_err(fault("its index"))?;
    package.files.iter().try_for_each(|name| {
        let inside = format!("{}/{name}", package.folder);
        unpack_one(&mut archive, &inside, &directory.join(name)).map_err(fault(&inside))
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
        io::Write,
        os::unix::fs::PermissionsExt,
        path::PathBuf,
    };

    use tempfile::TempDir;
    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::{identify, unpack, verify};
    use crate::{Error, Package};

    fn wheel_with(entries: &[(&str, &str)]) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("onnxruntime.whl");
        let mut wheel = ZipWriter::new(File::create(&path).unwrap());
        for (name, text) in entries {
            wheel.start_file(*name, SimpleFileOptions::default()).unwrap();
            wheel.write_all(text.as_bytes()).unwrap();
        }
        wheel.finish().unwrap();
        (folder, path)
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
        unpack(&path, Package::named("onnxruntime").unwrap(), target.path()).unwrap();
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
        unpack(&path, package, folder.path()).unwrap();
        let is_program =
            |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o100 != 0;
        assert!(is_program("compute-sanitizer") && !is_program("libsanitizer-public.so"));
    }

    #[test]
    fn error_names_the_library_missing_from_a_wheel() {
        let (_wheel, path) = wheel_with(&LIBRARIES[..1]);
        let target = tempfile::tempdir().unwrap();
        let error = unpack(&path, Package::named("onnxruntime").unwrap(), target.path()).unwrap_err();
        assert!(error.to_string().contains("libonnxruntime_providers_shared.so"), "{error}");
    }

    #[test]
    fn truncated_wheel_is_an_error() {
        let (_wheel, path) = wheel_with(&LIBRARIES);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let target = tempfile::tempdir().unwrap();
        let result = unpack(&path, Package::named("onnxruntime").unwrap(), target.path());
        assert!(matches!(result, Err(Error::Wheel { .. })));
    }

    #[test]
    fn replaced_wheel_is_not_the_pinned_one() {
        let (_wheel, path) = wheel_with(&LIBRARIES);
        let result = verify(&path, Package::named("onnxruntime").unwrap());
        assert!(matches!(result, Err(Error::WrongHash { .. })));
        assert!(matches!(identify(&path), Err(Error::UnknownWheel { .. })));
    }
}
