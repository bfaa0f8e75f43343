//! The command that starts this executable as a worker.

use std::env;

use twinfer_case::TrustedVariant;
use twinfer_libraries::Hashing;
use twinfer_provision::Provision;
use twinfer_workers::{Deadlines, WorkerCommand};

use crate::{Failure, limits::LimitArguments, provision::provision, run_log::RunLog};

/// What the command line sets for all workers.
#[derive(Clone, Copy, Default)]
pub struct WorkerSettings<'a> {
    /// The log to append to, if there is one.
    pub log: Option<&'a RunLog>,
    /// What each worker may use of the machine.
    pub limits: LimitArguments,
}

impl WorkerSettings<'_> {
    /// How long workers may stay in each stage.
    pub fn deadlines(self) -> Deadlines {
        self.limits.deadlines_or(Deadlines::default())
    }

    /// Applies these settings to the workers that `command` starts.
    pub fn apply_to(self, command: &mut WorkerCommand) {
        command.limits = self.limits.or(command.limits);
        if let Some(log) = self.log {
            log.extend_to(command);
        }
    }
}

/// The command that starts a worker of any of `variants`, after installing missing libraries and verifying all of them, with
/// cached digests.
pub fn worker_for(variants: &[TrustedVariant]) -> Result<WorkerCommand, Failure> {
    let provision = provision(variants)?;
    provision.verify(Hashing::Cached)?;
    worker_with(&provision)
}

/// The command that starts a worker which finds the libraries of `provision`.
pub fn worker_with(provision: &Provision) -> Result<WorkerCommand, Failure> {
    let program = env::current_exe().map_err(|error| {
        Failure::environment(format!("cannot find this executable to start workers: {error}"))
    })?;
    let mut worker = WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new(program) };
    provision.equip(&mut worker)?;
    Ok(worker)
}
