//! Python environments of pinned packages, each with the adapter that serves its backend.

use crate::{Digest, Product, digest::sha256_of};

/// The pinned packages of a backend that is a Python package, and the adapter around it, which `backends install NAME` makes a Python
/// environment of.
#[derive(Debug, PartialEq, Eq)]
pub struct Environment {
    /// The product; the environment is installed under its name.
    pub product: Product,
    /// The pinned version of the package that does the work.
    pub version: &'static str,
    /// The size of all wheels in megabytes, rounded; shown while downloading.
    pub megabytes: u32,
    /// The packages, that of the product first. Packages that they need are listed too.
    pub packages: &'static [PinnedPackage],
    /// The adapter's source: the file that Python runs, then those that it imports.
    pub(crate) sources: &'static [Source],
}

/// A Python package of an environment, in one version.
#[derive(Debug, PartialEq, Eq)]
pub struct PinnedPackage {
    /// The name of the package on PyPI.
    pub distribution: &'static str,
    /// The version.
    pub version: &'static str,
    /// The SHA-256 of the wheel for each of [`PYTHONS`].
    hashes: [&'static str; PYTHONS.len()],
}

/// A file of an adapter, which this program contains.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub name: &'static str,
    pub text: &'static str,
}

/// The Python versions that have wheels of every package.
pub(crate) const PYTHONS: [&str; 4] = ["3.11", "3.12", "3.13", "3.14"];

impl Environment {
    /// The environment of `product`; `None` if the product is no Python package.
    pub fn of(product: Product) -> Option<&'static Self> {
        ENVIRONMENTS.iter().find(|environment| environment.product == product)
    }

    /// The environment of the product called `name`, or of the pinned release `NAME==VERSION`; `None` if there is none.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let (name, version) =
            name.split_once("==").map_or((name, None), |(name, version)| (name, Some(version)));
        let environment = Product::named(name).and_then(Self::of);
        environment.filter(|environment| version.is_none_or(|version| version == environment.version))
    }
}

impl PinnedPackage {
    /// What pip is asked for.
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.distribution, self.version)
    }

    /// The SHA-256 of the wheel for a version of Python; `None` if there is no wheel.
    pub(crate) fn sha256(&self, python: &str) -> Option<&'static str> {
        let place = PYTHONS.iter().position(|known| *known == python)?;
        Some(self.hashes[place])
    }
}

impl Source {
    pub fn sha256(&self) -> Digest {
        sha256_of(self.text.as_bytes())
    }
}

/// A file of the folder `adapters`.
macro_rules! source {
    ($name:literal) => {
        Source { name: $name, text: include_str!(concat!("../adapters/", $name)) }
    };
}

const PROTOCOL: Source = source!("worker_protocol.py");

const NUMPY: PinnedPackage = PinnedPackage {
    distribution: "numpy",
    version: "2.4.6",
    hashes: [
        "89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93",
        "90f9849678c75fe7afa2d348ac842c168b0a4d3d61919687216dfc547976d853",
        "a7830bab239b79cda9c08c2da014761cafb48da6150e1da17ac06283f43b6089",
        "a2c306dea656c12c68f51f4cea133cbe78ca7435eb28c735eac1d3ebe73be6e8",
    ],
};

/// All environments.
pub const ENVIRONMENTS: &[Environment] = &[Environment {
    product: Product::OnnxReference,
    version: "1.23.2",
    megabytes: 41,
    packages: &[
        PinnedPackage {
            distribution: "onnx",
            version: "1.23.2",
            hashes: [
                "c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348",
                "7abf381d278f31ac62487fddedc9dd42da842dce94d5d43536836ee3efdf4a2b",
                "7abf381d278f31ac62487fddedc9dd42da842dce94d5d43536836ee3efdf4a2b",
                "7abf381d278f31ac62487fddedc9dd42da842dce94d5d43536836ee3efdf4a2b",
            ],
        },
        NUMPY,
        PinnedPackage {
            distribution: "ml_dtypes",
            version: "0.6.0",
            hashes: [
                "6c8e39b53e90afda8ce52859c93de4dba3e02b76d85dcf091cc469f9184c6dae",
                "3b4a480aa8fd54a1805b8ac10f3f91763926a74f73c0c364c10f9231854f4170",
                "26b1f1fa4f0435a2946859823f6e2bf06796f1e9f10f5a05b08a5e3c8f46ff69",
                "8f490c003369ce60e514a0c3b12374f05274c101fee1bead6740ec8a564032b0",
            ],
        },
        PinnedPackage {
            distribution: "protobuf",
            version: "7.36.2",
            hashes: ["89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2"; 4],
        },
        PinnedPackage {
            distribution: "typing_extensions",
            version: "4.16.0",
            hashes: ["481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8"; 4],
        },
    ],
    sources: &[source!("onnx_reference_adapter.py"), PROTOCOL],
}];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_is_pinned_for_every_python() {
        for environment in ENVIRONMENTS {
            let [first, ..] = environment.packages else { panic!("{} has no package", environment.product) };
            assert_eq!(first.version, environment.version, "{}", environment.product);
            for package in environment.packages {
                let is_digest = |python: &&str| package.sha256(python).is_some_and(|hash| hash.len() == 64);
                assert!(PYTHONS.iter().all(is_digest), "{}", package.distribution);
            }
        }
    }

    #[test]
    fn python_without_wheels_has_no_hash() {
        assert_eq!(NUMPY.sha256("3.10"), None);
        assert_eq!(NUMPY.sha256("3.12"), Some(NUMPY.hashes[1]));
    }
}
