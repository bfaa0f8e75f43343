use serde::{Deserialize, Serialize};

/// A library that the variants of a run load, as it was when the run started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryInfo {
    /// The name of the installation, such as `tensorrt-8.6`, or the path that a variant names in its place.
    pub name: String,
    /// The version that the packaging or the file names state.
    pub version: String,
    /// The files, the one that is loaded first.
    pub files: Vec<LibraryFileInfo>,
}

/// A file of a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFileInfo {
    /// The file name, without a folder.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 in hexadecimal.
    pub sha256: String,
}
