use std::{collections::BTreeSet, ffi::OsString};

use twinfer_backend::given_library;
use twinfer_case::{Libraries, LibraryFileInfo, LibraryInfo, TrustedVariant, Variant};
use twinfer_libraries::{
    Hashing, Installed, LibraryFile, Product, SEARCH_PATH_VARIABLE, Store, Verified, search_path,
};
use twinfer_workers::WorkerCommand;

use crate::{Error, lacks_device};

/// The libraries that variants load.
pub struct Provision {
    store: Store,
    /// Each library once.
    libraries: Vec<Installed>,
    /// The variants that load a library, each with the place of its library, before those of its lean runtimes and its plugin.
    loaded: Vec<(Variant, usize)>,
}

/// Installs the library of this name in a store.
pub type Install<'a> = &'a mut dyn FnMut(&Store, &str) -> Result<Installed, twinfer_libraries::Error>;

impl Provision {
    /// The libraries that `variants` load: given by an option or the environment, in `store`, or else installed there now.
    ///
    /// # Errors
    ///
    /// If a library is missing and cannot be installed, or if its variant needs a GPU and there is none.
    pub fn of(store: Store, variants: &[TrustedVariant], install: Install<'_>) -> Result<Self, Error> {
        let mut provision = Self { store, libraries: Vec::new(), loaded: Vec::new() };
        for variant in variants {
            let product = variant.backend.library().and_then(Product::named);
            let library = match (product, given_library(variant), variant.library()) {
                (Some(product), Some(path), _) => provision.store.given(product, &path),
                (_, None, Some(name)) => provide(&provision.store, &name, variant, install)?,
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
                let library = provide(&provision.store, &name, variant, install)?;
                provision.add(variant, library);
            }
        }
        Ok(provision)
    }

    /// Verifies each library once, and returns what is recorded of them.
    ///
    /// # Errors
    ///
    /// If a library is damaged.
    pub fn verify(&self, hashing: Hashing) -> Result<Libraries, Error> {
        let verified = self.store.verify(&self.libraries, hashing)?;
        let infos: Vec<_> = verified.into_iter().map(info).collect();
        let loaded = self.loaded.iter();
        Ok(loaded.map(|(variant, library)| (variant.clone(), infos[*library].clone())).collect())
    }

    /// Tells the workers that `command` starts where the libraries are.
    ///
    /// # Errors
    ///
    /// If the folder of a library cannot be part of a search path.
    pub fn equip(&self, command: &mut WorkerCommand) -> Result<(), Error> {
        command.adapters.extend(self.adapters());
        let path = search_path(&self.libraries)?;
        command.env.extend(path.map(|path| (SEARCH_PATH_VARIABLE.to_owned(), path)));
        Ok(())
    }

    /// The command lines of the adapters among the libraries, by the library of their variants.
    fn adapters(&self) -> impl Iterator<Item = (String, Vec<OsString>)> {
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

/// The library of this name, which `variant` loads.
fn provide(store: &Store, name: &str, variant: &Variant, install: Install<'_>) -> Result<Installed, Error> {
    use twinfer_libraries::Error::{NotInstalled, Outdated};

    match store.find(name) {
        Err(NotInstalled { .. } | Outdated { .. }) if lacks_device(variant) => {
            Err(Error::NoDevice(variant.clone()))
        }
        _ => Ok(install(store, name)?),
    }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::has_device;

    /// What is provided for a variant from an empty store, and the libraries that were to be installed.
    fn provided(variant: &str) -> (Result<Provision, Error>, Vec<String>) {
        let folder = TempDir::new().unwrap();
        let variant = TrustedVariant::vouch(variant.parse().unwrap());
        let mut wanted = Vec::new();
        let mut install = |store: &Store, name: &str| {
            wanted.push(name.to_owned());
            Ok(store.given(Product::Onnxruntime, folder.path()))
        };
        (Provision::of(Store::at(folder.path()), &[variant], &mut install), wanted)
    }

    #[test]
    fn given_library_is_not_installed() {
        let libraries = TempDir::new().unwrap();
        fs::write(libraries.path().join("libonnxruntime.so"), b"").unwrap();
        let (provision, wanted) = provided(&format!("ort:cpu,lib={}", libraries.path().display()));
        assert_eq!(provision.unwrap().libraries.len(), 1);
        assert_eq!(wanted, [""; 0]);
    }

    #[test]
    fn plugin_is_installed_beside_its_library() {
        let (provision, wanted) = provided("ort:ep=openvino,version=1.22");
        assert_eq!(provision.unwrap().loaded.len(), 2);
        assert!(wanted[0].starts_with("onnxruntime") && wanted.len() == 2, "{wanted:?}");
    }

    #[test]
    fn external_backend_needs_no_library() {
        let (provision, wanted) = provided("external:./adapter.py");
        assert!(provision.unwrap().libraries.is_empty() && wanted.is_empty());
    }

    #[test]
    fn nothing_is_installed_that_needs_an_absent_gpu() {
        let (provision, wanted) = provided("trt,version=8.6");
        if has_device() {
            assert_eq!(wanted.len(), 1);
        } else {
            assert!(matches!(provision, Err(Error::NoDevice(_))));
            assert!(wanted.is_empty(), "{wanted:?}");
        }
    }
}
