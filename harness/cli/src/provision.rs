//! Installs missing libraries of the backends that a command uses.

use std::{collections::BTreeSet, ffi::OsString};

use twinfer_backend::given_library;
use twinfer_case::{TrustedVariant, Variant};
use twinfer_libraries::{Error, Installed, Product, Store};

use crate::{Failure, installation::with_progress, obstacle::lacks_device, output::note};

/// The libraries that variants load.
pub struct Provision {
    /// Each library once.
    pub libraries: Vec<Installed>,
    /// The variants that load a library, each with the place of its library, before those of its lean runtimes and its plugin.
    pub loaded: Vec<(Variant, usize)>,
}

impl Provision {
    /// The command lines of the adapters among the libraries, by the library of their variants.
    pub fn adapters(&self) -> impl Iterator<Item = (String, Vec<OsString>)> {
        self.loaded
            .iter()
            .filter_map(|(variant, library)| Some((variant.library()?, self.libraries[*library].adapter()?)))
    }

    fn add(&mut self, variant: &Variant, library: Installed) {
        let place = self.libraries.iter().position(|other| *other == library);
        let place = place.unwrap_or_else(|| {
            self.libraries.push(library);
            self.libraries.len() - 1
        });
        self.loaded.push((variant.clone(), place));
    }
}

/// Installs the missing libraries of `variants`, with progress on standard error, and returns all libraries that the
/// variants load.
pub fn provision(variants: &[TrustedVariant]) -> Result<Provision, Failure> {
    let store = Store::open()?;
    let mut provision = Provision { libraries: Vec::new(), loaded: Vec::new() };
    for variant in variants {
        let product = variant.backend.library().and_then(Product::named);
        let library = match (product, given_library(variant), variant.library()) {
            (Some(product), Some(path), _) => store.given(product, &path),
            (_, None, Some(name)) => provide(&store, &name, variant)?,
            _ => continue,
        };
        let mut further = BTreeSet::new();
        if let Some(runtime) = variant.lean_runtime() {
            further.extend(library.lean_runtime());
            further.insert(runtime);
        }
        further.extend(variant.plugin().map(str::to_owned));
        provision.add(variant, library);
        for name in further {
            provision.add(variant, provide(&store, &name, variant)?);
        }
    }
    Ok(provision)
}

fn provide(store: &Store, name: &str, variant: &TrustedVariant) -> Result<Installed, Failure> {
    if let Err(Error::NotInstalled { name, .. } | Error::Outdated { name, .. }) = store.find(name) {
        if lacks_device(variant) {
            return Err(Failure::environment(format!(
                "{variant} needs an NVIDIA GPU and this machine has none: leave it out of --backends"
            )));
        }
        note!("installing {name} into {}", store.root().display());
    }
    Ok(with_progress(|report| store.ensure(name, report))?)
}
