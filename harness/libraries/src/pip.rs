use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{Error, Package, program::output_within};

/// How long a download may take: a gigabyte at half a megabyte a second.
const DOWNLOAD: Duration = Duration::from_mins(30);
/// How long pip may take to report its version, from a slow disk.
const VERSION: Duration = Duration::from_mins(1);

/// The name and version of pip; `None` if it does not run.
pub fn pip_version() -> Option<String> {
    let mut command = Command::new("python3");
    let output = output_within(command.args(["-I", "-m", "pip", "--version"]), VERSION).ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split(" from ").next()?.trim().to_owned()).filter(|version| !version.is_empty())
}

/// Downloads the package's wheel into `directory` with pip, which respects the user's index and proxy settings.
pub(crate) fn download(package: &Package, directory: &Path) -> Result<PathBuf, Error> {
    let mut command = Command::new("python3");
    // isolated, so that neither the current folder nor PYTHONPATH provides another pip
    command.args(["-I", "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]);
    command.args(["--no-deps", "--only-binary=:all:", "--implementation", "cp"]);
    command.args(["--python-version", package.python, "--platform", package.platform]);
    command.arg("--dest").arg(directory);
    command.arg(format!("{}=={}", package.distribution, package.version));
    let shown = format!("python3 -m pip download {}=={}", package.distribution, package.version);
    let output = output_within(&mut command, DOWNLOAD).map_err(|source| match source.kind() {
        ErrorKind::TimedOut => Error::Pip { command: shown.clone(), reason: source.to_string() },
        _ => Error::NoPip { command: shown.clone(), source },
    })?;
    if !output.status.success() {
        return Err(Error::Pip { command: shown, reason: last_line(&output.stderr) });
    }
    wheel_in(directory).ok_or(Error::Pip { command: shown, reason: "it downloaded no wheel".to_owned() })
}

fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed no message").trim().to_owned()
}

fn wheel_in(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| is_wheel(path))
}

pub(crate) fn is_wheel(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "whl")
}
