use std::{env, process::Command};

use tempfile::TempDir;
use twinfer_case::TrustedVariant;

use super::command::WorkerCommand;
use crate::{error::WorkerError, limits::Limits};

/// The prefix of the folder that a worker has for temporary files.
const PREFIX: &str = "twinfer-worker-";

/// A worker that is about to be started.
pub struct Launch {
    /// Starts the worker or its keeper.
    pub command: Command,
    /// The worker's folder for temporary files; removed when dropped.
    pub temporary_folder: TempDir,
    /// What the worker may use.
    pub limits: Limits,
    /// Whether a keeper stands between the supervisor and the worker.
    pub is_kept: bool,
}

impl Launch {
    /// Finds the program of a worker of `variant`, and creates its folder for temporary files.
    pub fn prepare(command: &WorkerCommand, variant: &TrustedVariant) -> Result<Self, WorkerError> {
        let failed = |reason: String| WorkerError::Worker { variant: (**variant).clone(), reason };
        let temporary_folder = tempfile::Builder::new().prefix(PREFIX).tempdir().map_err(|error| {
            failed(format!("cannot create a folder in {}: {error}: set TMPDIR", env::temp_dir().display()))
        })?;
        let command_of_worker = command.for_variant(variant, temporary_folder.path());
        Ok(Self {
            command: command_of_worker.map_err(|error| failed(error.to_string()))?,
            temporary_folder,
            limits: Limits::on_this_machine(command.limits),
            is_kept: command.keeps_workers,
        })
    }
}
