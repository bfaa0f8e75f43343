//! Installs missing libraries of the backends that a command uses.

use twinfer_case::TrustedVariant;
use twinfer_libraries::{Error, Hashing, Installed, Store};

use crate::{Failure, installation::with_progress, obstacle::lacks_device};

/// Installs the missing libraries of `variants`, with progress on standard error, and returns all libraries that the
/// variants load, each once. Their files are those that were installed, as far as the cached digests tell.
pub fn provision(variants: &[TrustedVariant]) -> Result<Vec<Installed>, Failure> {
    let store = Store::open()?;
    let mut libraries: Vec<Installed> = Vec::new();
    for variant in variants {
        let Some(name) = variant.library() else { continue };
        let library = provide(&store, &name, variant)?;
        if !libraries.contains(&library) {
            libraries.push(library);
        }
    }
    store.verify(&libraries, Hashing::Cached)?;
    Ok(libraries)
}

fn provide(store: &Store, name: &str, variant: &TrustedVariant) -> Result<Installed, Failure> {
    if let Err(Error::NotInstalled { name, .. }) = store.find(name) {
        if lacks_device(variant) {
            return Err(Failure::environment(format!(
                "{variant} needs an NVIDIA GPU and this machine has none: leave it out of --backends"
            )));
        }
        eprintln!("installing {name} into {}", store.root().display());
    }
    Ok(with_progress(|report| store.ensure(name, report))?)
}
