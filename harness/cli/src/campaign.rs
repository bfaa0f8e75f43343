//! Running a campaign in front of a person: its worker command, its progress, its interruption.

use std::{
    env,
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use twinfer_campaign::{Campaign, CampaignError, Options, WorkerCommand};
use twinfer_reports::{Progress, Report, Reporter};

use crate::Failure;

/// Runs a campaign, showing its progress on standard error; Ctrl-C ends it early with everything on disk.
pub fn watched(options: Options) -> Result<Report, Failure> {
    stop_on_interrupt(&options.stop);
    let (mut progress, mut report) = (Progress::to_stderr(), Report::default());
    Campaign::new(options)?.run(&mut |event| {
        progress.hear(event);
        report.hear(event);
    })?;
    Ok(report)
}

/// This executable is its own worker; `devices` are the GPUs that it sees.
pub fn worker_command(devices: Option<&str>) -> Result<WorkerCommand, Failure> {
    let program = env::current_exe().map_err(|error| {
        Failure::environment(format!("cannot find this executable to start workers: {error}"))
    })?;
    let env = devices.map(|devices| ("CUDA_VISIBLE_DEVICES".to_owned(), devices.to_owned()));
    Ok(WorkerCommand {
        args: vec!["worker".to_owned()],
        env: env.into_iter().collect(),
        ..WorkerCommand::new(program)
    })
}

/// The first Ctrl-C asks the campaign to stop, a second one stops the process.
fn stop_on_interrupt(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    // where no handler can be set, Ctrl-C ends the process at once, which loses nothing that was written
    let _ = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            exit(INTERRUPTED);
        }
        eprintln!("stopping after the cases that are under way; once more to stop at once");
    });
}

/// What a shell reports of a process that SIGINT ended.
const INTERRUPTED: i32 = 130;

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::NoBackend | CampaignError::UnknownFamily { .. } | CampaignError::Format { .. } => {
                Self::usage(error)
            }
            _ => Self::environment(error),
        }
    }
}
