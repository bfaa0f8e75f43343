use std::{fmt, path::PathBuf};

use crate::Package;

/// A step of an installation, reported when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another process is installing the same package.
    Waiting(&'static Package),
    /// pip fetches the wheel.
    Downloading(&'static Package),
    /// The wheel's hash is compared with the pinned one.
    Verifying(&'static Package),
    /// The libraries are unpacked.
    Unpacking(&'static Package, PathBuf),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(package) => {
                write!(f, "waiting for another process that installs {} {}", package.name, package.version)
            }
            Self::Downloading(package) => write!(
                f,
                "downloading {} {} ({} MB, {} from PyPI)",
                package.name, package.version, package.megabytes, package.distribution
            ),
            Self::Verifying(package) => write!(f, "verifying {} {}", package.name, package.version),
            Self::Unpacking(package, directory) => {
                write!(f, "unpacking {} {} into {}", package.name, package.version, directory.display())
            }
        }
    }
}
