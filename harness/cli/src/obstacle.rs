//! What keeps a variant from running on a machine.

use std::fmt;

use twinfer_case::{BackendVersion, DeviceNeed, Variant};
use twinfer_libraries::Store;
use twinfer_provision::{has_device, lacks_device};

/// Why a variant cannot show here what was recorded of it elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It runs on a GPU.
    NoDevice,
    /// It was recorded on a machine without a GPU, where it builds and does not execute.
    Device,
    /// Its library is not on this machine, for this reason.
    NoLibrary(String),
    /// Another version is installed.
    OtherVersion {
        /// That one.
        installed: String,
        /// What was recorded.
        recorded: String,
    },
}

impl Obstacle {
    /// What keeps `variant` from showing what was recorded with `version`; `None` if nothing does, as far as this is known
    /// without starting its worker.
    pub fn to(variant: &Variant, version: &BackendVersion) -> Option<Self> {
        if lacks_device(variant) {
            return Some(Self::NoDevice);
        }
        if variant.backend.device_need() == DeviceNeed::ToExecute && has_device() {
            return Some(Self::Device);
        }
        let name = variant.library()?;
        let installed = match Store::open().and_then(|store| store.find(&name)) {
            Ok(library) => library.version,
            Err(error) => return Some(Self::NoLibrary(error.to_string())),
        };
        let recorded = version.version();
        let differs = !installed.starts_with(recorded);
        differs.then(|| Self::OtherVersion { installed, recorded: recorded.to_owned() })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice => f.write_str("no CUDA device"),
            Self::Device => f.write_str("recorded without a GPU"),
            Self::NoLibrary(reason) => f.write_str(reason),
            Self::OtherVersion { installed, recorded } => {
                write!(f, "recorded with {recorded}, {installed} is installed")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Obstacle;

    fn obstacle(variant: &str, version: &str) -> Option<Obstacle> {
        Obstacle::to(&variant.parse().unwrap(), &version.into())
    }

    #[test]
    fn a_variant_that_brings_its_own_library_has_no_obstacle() {
        assert_eq!(obstacle("external:./adapter.py", "mine 1"), None);
    }

    #[test]
    fn what_is_not_installed_is_an_obstacle() {
        let missing = obstacle("ort:cpu,version=0.1", "ONNX Runtime 0.1");
        assert!(matches!(missing, Some(Obstacle::NoLibrary(_))), "{missing:?}");
    }
}
