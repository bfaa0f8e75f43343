//! The Python that runs environments.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{Environment, Error, Installed, pinned_package::Python, program::output_within};

/// The folder of an environment that holds its unpacked packages.
pub(crate) const PACKAGES: &str = "site-packages";
/// How long Python may take to report its version, from a slow disk.
const VERSION: Duration = Duration::from_mins(1);

/// The folder that holds the unpacked packages of the environment in `directory`.
pub(crate) fn packages_in(directory: &Path) -> PathBuf {
    directory.join(PACKAGES)
}

/// The first two numbers of the version of the environment's Python, such as `3.11`.
pub(crate) fn version(python: Python) -> Result<String, Error> {
    let missing = || Error::NoPython { program: python.program, versions: python.versions };
    let mut command = Command::new(python.program);
    command.args(["-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
    let output = output_within(&mut command, VERSION).map_err(|_| missing())?;
    let text = String::from_utf8(output.stdout).unwrap_or_default();
    let version = text.trim();
    if output.status.success() && !version.is_empty() { Ok(version.to_owned()) } else { Err(missing()) }
}

impl Installed {
    /// The command line of the adapter, if this is a Python environment: isolated from the user's own packages and variables.
    pub fn adapter(&self) -> Option<Vec<OsString>> {
        let python = Environment::of(self.product)?.python;
        Some(vec![
            python.program.into(),
            "-I".into(),
            self.library().into(),
            packages_in(&self.directory).into(),
        ])
    }
}
