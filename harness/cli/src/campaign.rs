//! Runs a campaign with progress on standard error, and stops it on Ctrl-C.

use twinfer_campaign::{Campaign, Options};
use twinfer_reports::{Report, Reporter};
use twinfer_store::RunDirectory;

use crate::{Failure, interruption, resumption::Resumption, terminal};

/// Runs a campaign with progress on standard error. Ctrl-C ends the campaign early and keeps everything on disk.
///
/// If a campaign fails after it started, the error message contains the command that resumes the run.
pub fn run_with_progress(
    options: Options,
    directory: &RunDirectory,
    resumption: &Resumption,
) -> Result<Report, Failure> {
    interruption::stop_campaign(&options.stop, resumption);
    let (mut progress, mut report) = (terminal::progress(), Report::default());
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
