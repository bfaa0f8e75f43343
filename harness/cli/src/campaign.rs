//! Running a campaign in front of a person: its progress, its interruption.

use std::{
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use twinfer_campaign::{Campaign, Options};
use twinfer_reports::{Progress, Report, Reporter};

use crate::{Failure, resumption::Resumption};

/// Runs a campaign, showing its progress on standard error; Ctrl-C ends it early with everything on disk. Where it fails on
/// its way, the message says how to go on.
pub fn watched(options: Options, resumption: &Resumption) -> Result<Report, Failure> {
    stop_on_interrupt(&options.stop, resumption.clone());
    let (mut progress, mut report) = (Progress::to_stderr(), Report::default());
    let ended = Campaign::new(options)?.run(&mut |event| {
        progress.hear(event);
        report.hear(event);
    });
    match ended {
        Ok(_) => Ok(report),
        Err(error) if report.run.is_none() => Err(error.into()),
        Err(error) => {
            let Failure { message, exit } = error.into();
            Err(Failure { message: format!("{message}; when that is mended, go on: {resumption}"), exit })
        }
    }
}

/// The first Ctrl-C, or whatever else asks the process to end, asks the campaign to stop; a second one stops the process.
fn stop_on_interrupt(stop: &Arc<AtomicBool>, resumption: Resumption) {
    let stop = Arc::clone(stop);
    // where no handler can be set, Ctrl-C ends the process at once, which loses nothing that was written
    let _ = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            eprintln!("stopped at once; to go on: {resumption}");
            exit(INTERRUPTED);
        }
        eprintln!("stopping after the cases that are under way; once more to stop at once");
    });
}

/// What a shell reports of a process that SIGINT ended.
const INTERRUPTED: i32 = 130;
