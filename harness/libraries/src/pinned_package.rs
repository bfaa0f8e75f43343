//! Python packages in one version, and the Python that imports them.

/// A Python package of an environment, in one version.
#[derive(Debug, PartialEq, Eq)]
pub struct PinnedPackage {
    /// The name of the package on PyPI.
    pub distribution: &'static str,
    /// The version.
    pub version: &'static str,
    /// The versions of Python that it is pinned for.
    pub(crate) pythons: &'static [&'static str],
    /// The SHA-256 of the wheel for each of them.
    pub(crate) hashes: &'static [&'static str],
}

/// A Python that runs environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Python {
    /// The program; the first of this name on `PATH` counts.
    pub program: &'static str,
    /// Its versions for which every package of the environment has a wheel.
    pub versions: &'static [&'static str],
}

impl PinnedPackage {
    /// What pip is asked for.
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.distribution, self.version)
    }

    /// The SHA-256 of the wheel for a version of Python; `None` if there is no wheel.
    pub(crate) fn sha256(&self, python: &str) -> Option<&'static str> {
        let place = self.pythons.iter().position(|known| *known == python)?;
        self.hashes.get(place).copied()
    }
}
