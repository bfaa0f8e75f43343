//! Commands that are started again.

use std::path::Path;

use clap::Args;
use twinfer_reports::Report;
use twinfer_store::has_run;

use crate::Exit;

/// Whether the run of an earlier start goes on, and whether findings make the exit code other than 0.
#[derive(Clone, Copy, Debug, Args)]
pub struct ContinuationArguments {
    /// Resume the run in --out with the settings that it records. Only --cases, --time, --jobs and --devices may differ from
    /// them; commands and paths in --backends must be repeated, or need --trust
    #[arg(long, requires = "out")]
    resume: bool,
    /// Resume the run in --out if there is one, and start it otherwise: a scheduler can start the same command again
    #[arg(long, requires = "out", conflicts_with = "resume")]
    resume_or_start: bool,
    /// Exit with 0 instead of 1 if new findings are the only problem, so that a scheduler does not count the job as failed
    #[arg(long)]
    exit_zero_on_findings: bool,
}

impl ContinuationArguments {
    /// Whether the run in `out` is resumed.
    pub fn resumes(self, out: Option<&Path>) -> bool {
        self.resume || self.resume_or_start && out.is_some_and(has_run)
    }

    /// The exit code of the campaign of `report`.
    pub fn exit(self, report: &Report) -> Exit {
        if self.exit_zero_on_findings {
            Exit::of_campaign_despite_findings(report)
        } else {
            Exit::of_campaign(report)
        }
    }
}
