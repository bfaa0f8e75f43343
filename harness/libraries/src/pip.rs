use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Error, Package};

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
    let output = command.output().map_err(|source| Error::NoPip { command: shown.clone(), source })?;
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
