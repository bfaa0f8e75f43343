use std::{fmt, path::PathBuf};

use crate::{Environment, Package, PinnedPackage, Requirement};

/// A step of an installation, reported when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another process is installing the same package.
    Waiting(Release),
    /// pip fetches the wheel.
    Downloading(&'static Package),
    /// pip fetches a wheel that is not pinned.
    Fetching(Requirement),
    /// pip fetches a package of an environment.
    FetchingPackage(&'static PinnedPackage),
    /// The wheel's hash is compared with the pinned one, or what is installed with what was recorded.
    Verifying(Release),
    /// The libraries are unpacked.
    Unpacking(Release, PathBuf),
}

/// What is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The name of the installation, such as `tensorrt-8.6`.
    pub name: String,
    /// The version.
    pub version: String,
}

impl Release {
    pub(crate) fn of(package: &Package) -> Self {
        Self { name: package.name.to_owned(), version: package.version.to_owned() }
    }

    pub(crate) fn of_environment(environment: &Environment) -> Self {
        Self { name: environment.product.to_string(), version: environment.version.to_owned() }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(release) => write!(f, "waiting for another process that installs {release}"),
            Self::Downloading(package) => write!(
                f,
                "downloading {} {} ({} MB, {} from PyPI)",
                package.name, package.version, package.megabytes, package.distribution
            ),
            Self::Fetching(requirement) => write!(f, "downloading {} from PyPI", requirement.for_pip()),
            Self::FetchingPackage(package) => write!(f, "downloading {} from PyPI", package.requirement()),
            Self::Verifying(release) => write!(f, "verifying {release}"),
            Self::Unpacking(release, directory) => {
                write!(f, "unpacking {release} into {}", directory.display())
            }
        }
    }
}
