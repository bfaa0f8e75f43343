//! Provides the libraries of the backends that a command uses.

use twinfer_campaign::LibraryCheck;
use twinfer_case::TrustedVariant;
use twinfer_libraries::{Error, Hashing, Installed, Store};
use twinfer_provision::Provision;

use crate::{Failure, installation::with_progress, output::note};

/// Installs the missing libraries of `variants`, with progress on standard error, and returns all libraries that the
/// variants load.
pub fn provision(variants: &[TrustedVariant]) -> Result<Provision, Failure> {
    Ok(Provision::of(Store::open()?, variants, &mut install)?)
}

/// Starts to verify the libraries of `provision` on a thread.
pub fn verify_in_background(provision: Provision, hashing: Hashing) -> LibraryCheck {
    LibraryCheck::start(move || provision.verify(hashing).map_err(|error| error.to_string()))
}

fn install(store: &Store, name: &str) -> Result<Installed, Error> {
    if let Err(Error::NotInstalled { name, .. } | Error::Outdated { name, .. }) = store.find(name) {
        note!("installing {name} into {}", store.root().display());
    }
    with_progress(|report| store.ensure(name, report))
}
