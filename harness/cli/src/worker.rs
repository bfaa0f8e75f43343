//! The command that starts this executable as a worker.

use std::env;

use twinfer_case::TrustedVariant;
use twinfer_libraries::{Hashing, Installed, SEARCH_PATH_VARIABLE, search_path};
use twinfer_workers::WorkerCommand;

use crate::{Failure, libraries::verify, provision::provision};

/// The command that starts a worker of any of `variants`, after installing missing libraries and verifying all of them, with
/// cached digests.
pub fn worker_for(variants: &[TrustedVariant]) -> Result<WorkerCommand, Failure> {
    let libraries = provision(variants)?;
    verify(&libraries, Hashing::Cached)?;
    worker_with(&libraries)
}

/// The command that starts a worker which finds `libraries`.
pub fn worker_with(libraries: &[Installed]) -> Result<WorkerCommand, Failure> {
    let program = env::current_exe().map_err(|error| {
        Failure::environment(format!("cannot find this executable to start workers: {error}"))
    })?;
    let mut worker = WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new(program) };
    worker.env.extend(search_path(libraries)?.map(|path| (SEARCH_PATH_VARIABLE.to_owned(), path)));
    Ok(worker)
}
