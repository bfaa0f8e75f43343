//! Installs missing libraries of the backends that a command uses.

use twinfer_backend::given_library;
use twinfer_case::TrustedVariant;
use twinfer_libraries::{Error, Installed, Product, Store};

use crate::{Failure, installation::with_progress, obstacle::lacks_device, output::note};

/// Installs the missing libraries of `variants`, with progress on standard error, and returns all libraries that the
/// variants load, each once.
pub fn provision(variants: &[TrustedVariant]) -> Result<Vec<Installed>, Failure> {
    let store = Store::open()?;
    let mut libraries: Vec<Installed> = Vec::new();
    for variant in variants {
        let product = variant.backend.library().and_then(Product::named);
        let library = match (product, given_library(variant), variant.library()) {
            (Some(product), Some(path), _) => store.given(product, &path),
            (_, None, Some(name)) => provide(&store, &name, variant)?,
            _ => continue,
        };
        if !libraries.contains(&library) {
            libraries.push(library);
        }
    }
    Ok(libraries)
}

fn provide(store: &Store, name: &str, variant: &TrustedVariant) -> Result<Installed, Failure> {
    if let Err(Error::NotInstalled { name, .. }) = store.find(name) {
        if lacks_device(variant) {
            return Err(Failure::environment(format!(
                "{variant} needs an NVIDIA GPU and this machine has none: leave it out of --backends"
            )));
        }
        note!("installing {name} into {}", store.root().display());
    }
    Ok(with_progress(|report| store.ensure(name, report))?)
}
