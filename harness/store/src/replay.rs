use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::{Event, FINDING_FORMAT, Finding, JOURNAL_FORMAT, RunEnd, RunInfo, Summary, check_format};

use crate::{
    Records, StoreError,
    files::read_json,
    names::{FINDING, FINDINGS, RUN},
};

/// Sends the events of a campaign that has ended or was killed, read from its run directory, to `sink`. The cases are those of
/// [`Records`]. A campaign that was killed has no [`Event::CampaignFinished`].
pub fn replay_events(run_directory: &Path, sink: &mut dyn FnMut(&Event)) -> Result<(), StoreError> {
    let path = run_directory.join(RUN);
    let run: RunInfo = read_json(&path).map_err(|error| match error {
        StoreError::File { path, source } => StoreError::NoRun { path, source },
        error => error,
    })?;
    check_format(run.format, JOURNAL_FORMAT).map_err(StoreError::format(&path))?;
    let mut summary = Summary::new(&run.variants);
    // a run of an earlier format does not say how it ended
    let end = run.end.clone().or((run.format < FIRST_WITH_END).then_some(RunEnd::Complete));
    let records = Records::open(run_directory, &run)?;
    sink(&Event::CampaignStarted { run });
    for record in records {
        let record = record?;
        summary.record(&record);
        sink(&Event::CaseFinished { record });
    }
    for path in findings(&run_directory.join(FINDINGS)) {
        let finding: Finding = read_json(&path)?;
        check_format(finding.format, FINDING_FORMAT).map_err(StoreError::format(&path))?;
        sink(&Event::FindingRecorded { slug: finding.signature.slug(), finding, new: true });
    }
    sink(&match end {
        Some(end) => Event::CampaignFinished { summary, end },
        None => Event::Progress { summary, waiting: 0 },
    });
    Ok(())
}

/// The first format in which a run says how it ended.
pub const FIRST_WITH_END: u32 = 4;

/// The files of the findings, sorted by folder name; a run without findings may lack the folder.
fn findings(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path().join(FINDING)).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}
