use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{Error, Package, Requirement, program::output_within};

/// How long a download may take: a gigabyte at half a megabyte a second.
const DOWNLOAD: Duration = Duration::from_mins(30);
/// How long pip may take to report its version, from a slow disk.
const VERSION: Duration = Duration::from_mins(1);

/// The Python versions whose wheels are looked for, the one that most releases have first.
const PYTHONS: [&str; 7] = ["3.11", "3.10", "3.12", "3.13", "3.14", "3.9", "3.8"];
/// The platforms whose wheels run here.
const PLATFORMS: [&str; 5] = [
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_24_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
];
/// Platform tags of pinned wheels that only some systems run, or that are named by an old standard.
const MORE_PLATFORMS: [&str; 2] = ["manylinux_2_34_x86_64", "manylinux1_x86_64"];

/// The name and version of pip; `None` if it does not run.
pub fn pip_version() -> Option<String> {
    let mut command = Command::new("python3");
    let output = output_within(command.args(["-I", "-m", "pip", "--version"]), VERSION).ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split(" from ").next()?.trim().to_owned()).filter(|version| !version.is_empty())
}

/// Downloads the package's wheel into `directory` with pip, which respects the user's index and proxy settings.
pub(crate) fn download(package: &Package, directory: &Path) -> Result<PathBuf, Error> {
    let requirement = format!("{}=={}", package.distribution, package.version);
    fetch(&requirement, package.python, &[package.platform], directory)
}

/// Downloads the wheel of a package for a version of Python into the new folder `directory`.
pub(crate) fn download_pinned(requirement: &str, python: &str, directory: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
    fetch(requirement, python, &[&PLATFORMS[..], &MORE_PLATFORMS[..]].concat(), directory)
}

/// Downloads the wheel of a release for whatever Python version has one: the libraries do not need Python.
pub(crate) fn download_any(requirement: &Requirement, directory: &Path) -> Result<PathBuf, Error> {
    let requirement = requirement.for_pip();
    let fetch = |python| fetch(&requirement, python, &PLATFORMS, directory);
    let is_absent = |error: &Error| matches!(error, Error::Pip { reason, .. } if reason.contains("No matching distribution"));
    let [first, others @ ..] = PYTHONS;
    others.into_iter().fold(fetch(first), |found, python| match found {
        Err(error) if is_absent(&error) => fetch(python),
        found => found,
    })
}

fn fetch(requirement: &str, python: &str, platforms: &[&str], directory: &Path) -> Result<PathBuf, Error> {
    let mut command = Command::new("python3");
    // isolated, so that neither the current folder nor PYTHONPATH provides another pip
    command.args(["-I", "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]);
    command.args(["--no-deps", "--only-binary=:all:", "--implementation", "cp", "--python-version", python]);
    command.args(platforms.iter().flat_map(|platform| ["--platform", platform]));
    command.arg("--dest").arg(directory).arg(requirement);
    let shown = format!("python3 -m pip download {requirement}");
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
