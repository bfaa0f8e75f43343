//! Verifies the libraries that variants load.

use twinfer_campaign::LibraryCheck;
use twinfer_case::{Libraries, LibraryFileInfo, LibraryInfo};
use twinfer_libraries::{Error, Hashing, LibraryFile, Store, Verified};

use crate::provision::Provision;

/// Verifies the libraries of `provision`, each once, and returns what is recorded of them.
pub fn verify(provision: &Provision, hashing: Hashing) -> Result<Libraries, Error> {
    let verified = Store::open()?.verify(&provision.libraries, hashing)?;
    let infos: Vec<_> = verified.into_iter().map(info).collect();
    let loaded = provision.loaded.iter();
    Ok(loaded.map(|(variant, library)| (variant.clone(), infos[*library].clone())).collect())
}

/// Starts to verify the libraries of `provision` on a thread.
pub fn verify_in_background(provision: Provision, hashing: Hashing) -> LibraryCheck {
    LibraryCheck::start(move || verify(&provision, hashing).map_err(|error| error.to_string()))
}

fn info(library: Verified) -> LibraryInfo {
    let file =
        |LibraryFile { name, bytes, sha256 }| LibraryFileInfo { name, bytes, sha256: sha256.to_string() };
    LibraryInfo {
        name: library.name,
        version: library.version,
        files: library.files.into_iter().map(file).collect(),
    }
}
