//! Verifies the libraries that variants load.

use twinfer_campaign::LibraryCheck;
use twinfer_case::{LibraryFileInfo, LibraryInfo};
use twinfer_libraries::{Error, Hashing, Installed, LibraryFile, Store, Verified};

/// Verifies `libraries`, and returns what a run records of them.
pub fn verify(libraries: &[Installed], hashing: Hashing) -> Result<Vec<LibraryInfo>, Error> {
    let verified = Store::open()?.verify(libraries, hashing)?;
    Ok(verified.into_iter().map(info).collect())
}

/// Starts to verify `libraries` on a thread.
pub fn verify_in_background(libraries: Vec<Installed>, hashing: Hashing) -> LibraryCheck {
    LibraryCheck::start(move || verify(&libraries, hashing).map_err(|error| error.to_string()))
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
