//! Backends as this machine has them.

use twinfer_backend::{Backend, OpenError, given_library, open};
use twinfer_case::Variant;
use twinfer_libraries::{PACKAGES, Store};
use twinfer_prerequisites::skip;

/// The backend of `variant`, unless what it needs is not on this machine.
pub fn opened(variant: &str) -> Option<Box<dyn Backend>> {
    let variant: Variant = variant.parse().unwrap();
    match open(&variant) {
        Ok(backend) => {
            assert_version_of_package(&variant, backend.as_ref());
            Some(backend)
        }
        Err(error @ (OpenError::Library(_) | OpenError::Provider { .. } | OpenError::TensorRt(_))) => {
            let library = variant.library().or_else(|| variant.backend.library().map(str::to_owned));
            skip(&library.unwrap_or_default(), format!("{variant}: {error}"));
            None
        }
        Err(error) => panic!("{variant}: {error}"),
    }
}

/// The version of the installed package begins with the one that the backend states, by which records are distinguished.
fn assert_version_of_package(variant: &Variant, backend: &dyn Backend) {
    let name = variant.library().filter(|_| given_library(variant).is_none());
    let Some(installed) = name.and_then(|name| Store::open().ok()?.find(&name).ok()) else { return };
    if PACKAGES.iter().any(|package| package.name == installed.name) {
        let stated = backend.describe().version;
        assert!(
            installed.version.starts_with(&stated),
            "{variant} states {stated}, not {}",
            installed.version
        );
    }
}
