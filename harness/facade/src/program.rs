//! The program that runs as a worker.

use std::{
    env,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use twinfer_provision::Provision;
use twinfer_worker::WORKER_VARIABLE;
use twinfer_workers::WorkerCommand;

use crate::Error;

/// The variable that names the program to run as a worker.
const PROGRAM_VARIABLE: &str = "TWINFER_PROGRAM";

/// Whether this program can run as a worker.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Turns this process into a worker if it was started as one. Otherwise returns, and every later
/// [`Conformance`](crate::Conformance) of this process starts this program as its worker.
pub fn become_worker_if_asked() {
    twinfer_worker::become_worker_if_asked();
    SERVES.store(true, Ordering::Relaxed);
}

/// The command that starts a worker which finds the libraries of `provision`.
pub fn worker(provision: &Provision) -> Result<WorkerCommand, Error> {
    let this = env::current_exe().map_err(|_| Error::NoProgram)?;
    let installed = || beside(&this).or_else(on_path);
    let mut command = match env::var_os(PROGRAM_VARIABLE).map(PathBuf::from).or_else(installed) {
        _ if SERVES.load(Ordering::Relaxed) => {
            let as_worker = (WORKER_VARIABLE.to_owned(), "1".to_owned());
            WorkerCommand { env: vec![as_worker], ..WorkerCommand::new(this) }
        }
        Some(program) => WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new(program) },
        None => return Err(Error::NoProgram),
    };
    provision.equip(&mut command)?;
    Ok(command)
}

/// `twinfer` in the folder of `program` or in its parent, where Cargo puts it for tests.
fn beside(program: &Path) -> Option<PathBuf> {
    command_in(program.ancestors().skip(1).take(2).map(Path::to_owned))
}

/// `twinfer` in a folder of `PATH`, where `cargo install` and pip put it.
fn on_path() -> Option<PathBuf> {
    command_in(env::split_paths(&env::var_os("PATH")?).filter(|folder| folder.is_absolute()))
}

fn command_in(mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.find_map(|folder| Some(folder.join("twinfer")).filter(|candidate| candidate.is_file()))
}
