use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use zip::{ZipArchive, result::ZipError};

use crate::{Error, PACKAGES, Package, digest::sha256};

/// No library of a backend is larger; a wheel that claims more is not unpacked.
const LARGEST_LIBRARY: u64 = 4 << 30;

/// Whether `wheel` is the one that was pinned.
pub(crate) fn verify(wheel: &Path, package: &Package) -> Result<(), Error> {
    let actual = sha256(wheel)?;
    if actual == package.sha256 {
        return Ok(());
    }
    Err(Error::WrongHash { path: wheel.to_owned(), expected: package.sha256.to_owned(), actual })
}

/// The package whose wheel this file is.
pub(crate) fn identify(wheel: &Path) -> Result<&'static Package, Error> {
    let hash = sha256(wheel)?;
    let known = PACKAGES.iter().find(|package| package.sha256 == hash);
    known.ok_or_else(|| Error::UnknownWheel { path: wheel.to_owned() })
}

/// Unpacks the package's libraries, and nothing else of the wheel, into `directory`.
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
    let written = io::copy(&mut entry.take(expected), &mut File::create_new(target)?)?;
    if written == expected {
        Ok(())
    } else {
        Err(ZipError::InvalidArchive("the library is cut short".into()))
    }
}
