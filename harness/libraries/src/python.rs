//! The Python that runs environments.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{Error, Installed, manifest::Origin, pinned_package::Python, program::output_within};

/// The folder of an environment that holds its unpacked packages.
pub(crate) const PACKAGES: &str = "site-packages";
/// How long Python may take to report its version, from a slow disk.
const VERSION: Duration = Duration::from_mins(1);

/// The folder that holds the unpacked packages of the environment in `directory`.
pub(crate) fn packages_in(directory: &Path) -> PathBuf {
    directory.join(PACKAGES)
}

/// A Python of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// The first two numbers of its version, such as `3.11`.
    pub version: String,
    /// Its file, without links, so that it is the same whatever `PATH` is later; of a virtual environment, the Python it was made of.
    pub program: PathBuf,
}

impl Interpreter {
    /// What [`on_path`](Self::on_path) runs. It prints the fields, one a line.
    const SCRIPT: &str = "import os, sys; print('%d.%d' % sys.version_info[:2]); \
                          print(os.path.realpath(getattr(sys, '_base_executable', sys.executable)))";

    /// The environment's Python on `PATH`.
    pub fn on_path(python: Python) -> Result<Self, Error> {
        let missing = || Error::NoPython { program: python.program, versions: python.versions };
        let mut command = Command::new(python.program);
        command.args(["-I", "-c", Self::SCRIPT]);
        let output = output_within(&mut command, VERSION).map_err(|_| missing())?;
        let text = String::from_utf8(output.stdout).unwrap_or_default();
        let found = text.split_once('\n').map(|(version, program)| Self {
            version: version.to_owned(),
            program: program.trim_end_matches('\n').into(),
        });
        found.filter(|found| output.status.success() && found.program.is_file()).ok_or_else(missing)
    }
}

impl Installed {
    /// The command line of the adapter, if this is a Python environment: isolated from the user's own packages and variables.
    pub fn adapter(&self) -> Option<Vec<OsString>> {
        let Origin::Environment { program, .. } = &self.record.as_ref()?.origin else { return None };
        Some(vec![program.into(), "-I".into(), self.library().into(), packages_in(&self.directory).into()])
    }
}
