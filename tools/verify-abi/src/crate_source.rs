//! Headers in the source of a package on crates.io.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
};

use serde::Deserialize;

use crate::{Error, Result, clang::HEADERS};

/// A package and its version: `trtx-sys@0.9.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrateSource {
    name: String,
    version: String,
}

impl FromStr for CrateSource {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let is_plain = |text: &str, marks: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
        };
        match text.split_once('@') {
            Some((name, version)) if is_plain(name, "-_") && is_plain(version, "-.+") => {
                Ok(Self { name: name.to_owned(), version: version.to_owned() })
            }
            _ => Err("expected NAME@VERSION".to_owned()),
        }
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

impl CrateSource {
    /// Fetches the package as a dependency of an empty project, and finds the folders of headers in its source.
    ///
    /// Nothing is built, and nothing is copied out of cargo's own cache.
    pub fn header_folders(&self) -> Result<Vec<PathBuf>> {
        let project = tempfile::tempdir()?;
        let manifest = project.path().join("Cargo.toml");
        fs::write(&manifest, self.manifest())?;
        fs::create_dir(project.path().join("src"))?;
        fs::write(project.path().join("src/lib.rs"), "")?;
        let metadata = self.metadata(&manifest)?;
        let package = metadata.packages.iter().find(|package| package.name == self.name);
        let source = package.and_then(|package| package.manifest_path.parent());
        let mut folders = Vec::new();
        collect_header_folders(source.ok_or_else(|| self.no_headers())?, &mut folders);
        if folders.is_empty() {
            return Err(self.no_headers());
        }
        folders.sort();
        Ok(folders)
    }

    fn manifest(&self) -> String {
        let Self { name, version } = self;
        format!(
            "[package]\nname = \"headers\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\n{name} = {{ version = \"={version}\", default-features = false }}\n"
        )
    }

    fn metadata(&self, manifest: &Path) -> Result<Metadata> {
        let failed = |reason: String| Error::Fetch { name: self.to_string(), reason };
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version=1", "--quiet", "--manifest-path"])
            .arg(manifest)
            .output()
            .map_err(|error| failed(format!("cargo does not start: {error}")))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            return Err(failed(lines.join(" ")));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }

    fn no_headers(&self) -> Error {
        Error::NoHeadersInCrate { name: self.to_string() }
    }
}

impl std::fmt::Display for CrateSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// Symbolic links are not followed; unreadable files and folders are skipped.
fn collect_header_folders(folder: &Path, found: &mut Vec<PathBuf>) {
    if HEADERS.iter().all(|name| folder.join(name).is_file()) {
        found.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|ty| ty.is_dir()) {
            collect_header_folders(&entry.path(), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_needs_a_name_and_a_version_and_nothing_else() {
        let source: CrateSource = "trtx-sys@0.9.1".parse().expect("both");
        assert_eq!(source.to_string(), "trtx-sys@0.9.1");
        assert!(source.manifest().contains("trtx-sys = { version = \"=0.9.1\""));
        for text in ["trtx-sys", "@1", "a@", "a\"@1", "a@1\" }", "a/b@1"] {
            assert!(text.parse::<CrateSource>().is_err(), "{text}");
        }
    }

    #[test]
    fn folders_with_both_headers_are_found_at_any_depth() {
        let root = tempfile::tempdir().expect("temporary folder");
        for (folder, names) in [("a/b", &HEADERS[..]), ("c", &HEADERS[..1])] {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).expect("create");
            for name in names {
                fs::write(folder.join(name), "").expect("write");
            }
        }
        let mut found = Vec::new();
        collect_header_folders(root.path(), &mut found);
        assert_eq!(found, [root.path().join("a/b")]);
    }
}
