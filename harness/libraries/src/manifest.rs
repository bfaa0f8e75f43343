use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Digest, Error, PACKAGES, Product, digest::sha256};

/// The format of `manifest.json`; raised when its meaning changes.
pub(crate) const FORMAT: u32 = 1;
pub(crate) const FILE_NAME: &str = "manifest.json";

/// The contents of an installation, stored in its folder as `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// The name of the installation.
    pub name: String,
    /// The product.
    pub product: Product,
    /// The version, as precise as the packaging states it.
    pub version: String,
    /// The wheel or the folder that the libraries came from.
    pub origin: Origin,
    /// The libraries; the first is the one to load.
    pub files: Vec<LibraryFile>,
    /// The stand-ins under `stand-ins/`, for machines that lack the real libraries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand_ins: Vec<String>,
}

/// The origin of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A wheel; the libraries lie beside the manifest.
    Wheel {
        /// The package on PyPI.
        distribution: String,
        /// The wheel's SHA-256.
        sha256: String,
    },
    /// Wheels of Python packages, which lie beside the manifest and are unpacked beside it.
    Environment {
        /// The version of Python that the wheels are for, such as `3.11`.
        python: String,
        /// The file of the Python that runs it; empty if an earlier build of twinfer, which looked on `PATH`, installed it.
        #[serde(default)]
        program: PathBuf,
    },
    /// A folder of the user, in which the libraries stay.
    Folder(PathBuf),
}

/// One library of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFile {
    /// The file name, without a folder.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256.
    pub sha256: Digest,
}

impl LibraryFile {
    /// Describes a file that was just installed.
    pub(crate) fn describe(directory: &Path, name: &str) -> Result<Self, Error> {
        let path = directory.join(name);
        let bytes = fs::metadata(&path).map_err(Error::io("read", &path))?.len();
        Ok(Self { name: name.to_owned(), bytes, sha256: sha256(&path)? })
    }

    pub(crate) fn has_its_size(&self, directory: &Path) -> bool {
        fs::metadata(directory.join(&self.name)).is_ok_and(|found| found.len() == self.bytes)
    }
}

impl Manifest {
    /// The error of a file that is not as it was installed.
    pub(crate) fn damaged(&self, path: PathBuf, fault: &'static str) -> Error {
        let origin = match &self.origin {
            Origin::Wheel { sha256, .. } if PACKAGES.iter().any(|package| package.sha256 == sha256) => {
                self.name.clone()
            }
            Origin::Wheel { distribution, .. } => format!("path/to/{distribution}-{}-….whl", self.version),
            Origin::Environment { .. } => self.name.clone(),
            Origin::Folder(folder) => folder.display().to_string(),
        };
        Error::Damaged { name: self.name.clone(), origin, path, fault }
    }

    pub(crate) fn read(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE_NAME);
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let fault = |reason: String| Error::Manifest { path: path.clone(), reason };
        let manifest: Self = serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(fault(format!("its format is {}, not {FORMAT}", manifest.format)));
        }
        if !manifest.names_plain_files() {
            return Err(fault("a file name in it leaves the folder".to_owned()));
        }
        Ok(manifest)
    }

    pub(crate) fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(FILE_NAME);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::Manifest { path: path.clone(), reason: error.to_string() })?;
        fs::write(&path, text + "\n").map_err(Error::io("write", path))
    }

    fn names_plain_files(&self) -> bool {
        let names = self.files.iter().map(|file| &file.name).chain(&self.stand_ins);
        !self.files.is_empty() && names.into_iter().all(|name| is_plain(name))
    }
}

pub(crate) fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|last| last == name)
}
