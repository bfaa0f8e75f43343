use std::{env, ffi::OsString, path::PathBuf};

use serde::{Deserialize, Serialize};

/// The environment variable that makes a program the keeper of a worker. Its value is [`Settings`] as JSON.
pub const KEEPER_VARIABLE: &str = "TWINFER_KEEPER";

/// The environment variable that names the folder for temporary files.
pub const TEMPORARY_FOLDER_VARIABLE: &str = "TMPDIR";

/// What a keeper is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The worker's program and its arguments.
    pub command: Vec<OsString>,
    /// The process id of the supervisor, which is this process's parent as long as it lives.
    pub supervisor: u32,
    /// The worker's own folder for temporary files, which the keeper removes at the end.
    pub temporary_folder: PathBuf,
    /// The most bytes of a file that the worker writes.
    pub file_bytes: u64,
}

/// Why a program that is asked to be a keeper cannot be one.
#[derive(Debug, thiserror::Error)]
#[error("the variable {KEEPER_VARIABLE} holds no settings: {0}")]
pub struct InvalidSettings(#[from] serde_json::Error);

impl Settings {
    /// The settings in the environment; `None` if this process is to be no keeper.
    pub fn from_environment() -> Result<Option<Self>, InvalidSettings> {
        let Some(text) = env::var_os(KEEPER_VARIABLE) else { return Ok(None) };
        Ok(Some(serde_json::from_slice(text.as_encoded_bytes())?))
    }

    /// The value of [`KEEPER_VARIABLE`] for these settings.
    ///
    /// # Errors
    ///
    /// If the folder's name is not UTF-8.
    pub fn to_value(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}
