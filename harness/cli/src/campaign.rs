//! Running a campaign in front of a person: its progress, its interruption.

use std::{
    io::ErrorKind,
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use twinfer_campaign::{Campaign, CampaignError, Options};
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
            CampaignError::NoBackend
            | CampaignError::NothingToCompareWith { .. }
            | CampaignError::UnknownFamily { .. }
            | CampaignError::OtherCampaign { .. }
            | CampaignError::Format { .. } => Self::usage(error),
            CampaignError::File { ref source, .. } if source.kind() == ErrorKind::NotFound => {
                Self::usage(error)
            }
            _ => Self::environment(error),
        }
    }
}
