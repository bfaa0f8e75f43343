use std::{io, process::Command};

use tempfile::TempDir;
use twinfer_case::TrustedVariant;

use super::command::WorkerCommand;
use crate::limits::Limits;

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
    /// Creates the folder for temporary files of a worker of `variant`.
    pub fn prepare(command: &WorkerCommand, variant: &TrustedVariant) -> io::Result<Self> {
        let temporary_folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
        Ok(Self {
            command: command.for_variant(variant, temporary_folder.path())?,
            temporary_folder,
            limits: Limits::on_this_machine(command.limits),
            is_kept: command.keeps_workers,
        })
    }
}
