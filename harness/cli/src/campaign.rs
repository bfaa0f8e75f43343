//! Runs a campaign with progress on standard error, and stops it on Ctrl-C.

use std::{
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use twinfer_campaign::{Campaign, Options};
use twinfer_reports::{Progress, Report, Reporter};
use twinfer_store::RunDirectory;

use crate::{Failure, output::note, resumption::Resumption};

/// Runs a campaign with progress on standard error. Ctrl-C ends the campaign early and keeps everything on disk.
///
/// If a campaign fails after it started, the error message contains the command that resumes the run.
pub fn run_with_progress(
    options: Options,
    directory: &RunDirectory,
    resumption: &Resumption,
) -> Result<Report, Failure> {
    stop_on_interrupt(&options.stop, resumption.clone());
    let (mut progress, mut report) = (Progress::to_stderr(), Report::default());
    let ended = Campaign::new(options)?.run(directory, &mut |event| {
        progress.on_event(event);
        report.on_event(event);
    });
    match ended {
        Ok(_) => Ok(report),
        Err(error) if report.run.is_none() => Err(error.into()),
        Err(error) => {
            let Failure { message, exit } = error.into();
            Err(Failure { message: format!("{message}; fix that, then resume with: {resumption}"), exit })
        }
    }
}

/// Stops the campaign on the first Ctrl-C or termination signal, and the process on the second.
fn stop_on_interrupt(stop: &Arc<AtomicBool>, resumption: Resumption) {
    let stop = Arc::clone(stop);
    // without a handler, Ctrl-C ends the process at once, which loses nothing that was written
    let _ = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            note!("stopped; resume with: {resumption}");
            exit(INTERRUPTED);
        }
        note!("stopping after the running cases; press Ctrl-C again to stop now");
    });
}

/// The exit code that shells report for a process ended by SIGINT.
const INTERRUPTED: i32 = 130;
