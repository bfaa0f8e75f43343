use twinfer_case::{Libraries, RunInfo, Summary};
use twinfer_store::{Journal, Records, Resumed, RunDirectory, Start};
use twinfer_triage::{Catalog, Findings};

use crate::{CampaignError, Options, admission::Earlier, hang_forecast::HangForecast, run_state::RunState};

/// The run of a campaign, created on disk or opened to be resumed.
pub struct OpenedRun {
    /// The run as it was begun.
    pub run: RunInfo,
    pub state: RunState,
    /// The cases that the run holds already.
    pub earlier: Earlier,
    /// The findings that were known before the run.
    pub known: Catalog,
}

impl OpenedRun {
    /// Creates `run` in a directory that was claimed for it, or opens the one there that it continues. `forecast` learns from the
    /// cases of that.
    pub fn new(
        directory: &RunDirectory,
        run: RunInfo,
        libraries: Libraries,
        options: &Options,
        forecast: &HangForecast,
    ) -> Result<Self, CampaignError> {
        let findings = Findings::open(directory, &options.known, options.matching, libraries)?;
        match directory.start() {
            Start::New => {
                let known = findings.catalog().clone();
                let journal = Journal::create(directory, &run)?;
                let state = RunState::new(journal, findings, Summary::new(&run.variants));
                Ok(Self { run, state, earlier: Earlier::default(), known })
            }
            Start::Resumed => Self::resumed(directory, &run, findings, forecast),
        }
    }

    fn resumed(
        directory: &RunDirectory,
        continued: &RunInfo,
        mut findings: Findings,
        forecast: &HangForecast,
    ) -> Result<Self, CampaignError> {
        let known = findings.catalog().clone();
        let resumed = Journal::resume(directory, continued, &|slug| findings.stored(slug))?;
        let Resumed { run, journal, summary, named, mut settled, reduced, open, missing } = resumed;
        findings.resume(named, &settled, &reduced)?;
        for record in Records::open(directory.path(), &run)? {
            let record = record?;
            if !open.contains_key(&record.index) {
                forecast.add(&record);
            }
        }
        (settled.new_findings, settled.earlier) = (findings.new_findings(), settled.cases);
        let reached = summary.cases + missing.len() as u64;
        let mut unsettled: Vec<_> = open.keys().copied().chain(missing).collect();
        unsettled.sort_unstable();
        let state = RunState::new(journal, findings, settled).with_open(open);
        Ok(Self { run, state, earlier: Earlier { unsettled, reached }, known })
    }
}
