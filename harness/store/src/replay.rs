use std::path::Path;

use twinfer_case::{
    Event, FINDING_FORMAT, Finding, RunEnd, RunTotals, StartingWorkers, Summary, check_format,
};

use crate::{
    Records, StoreError, files::read_json_in, findings_folder::findings_of_run,
    lost_findings::check_findings, names::FINDING, read_run,
};

/// Sends the events of a campaign that has ended or was killed, read from its run directory, to `sink`. The cases are those of
/// [`Records`]. A campaign that was killed has no [`Event::CampaignFinished`].
pub fn replay_events(run_directory: &Path, sink: &mut dyn FnMut(&Event)) -> Result<(), StoreError> {
    let run = read_run(run_directory)?;
    let RunTotals { seconds, workers_lost } = run.totals.filter(|_| run.end.is_some()).unwrap_or_default();
    let mut summary = Summary { seconds, workers_lost, ..Summary::new(&run.variants) };
    // a run of an earlier format does not say how it ended
    let end = run.end.clone().or((run.format < FIRST_WITH_END).then_some(RunEnd::Complete));
    let records = Records::open(run_directory, &run)?;
    sink(&Event::CampaignStarted { run: run.clone() });
    for record in records {
        let record = record?;
        summary.record(&record);
        sink(&Event::CaseFinished { record });
    }
    for folder in findings_of_run(run_directory)? {
        let path = folder.join(FINDING);
        let finding: Finding = read_json_in(&folder, FINDING).map_err(damaged)?;
        check_format(finding.format, FINDING_FORMAT).map_err(StoreError::format(&path))?;
        let slug = finding.signature.slug();
        let new = !run.recognized.contains(&slug);
        sink(&Event::FindingRecorded { slug, finding, new });
    }
    let named = summary.findings.iter().map(|count| &*count.slug);
    check_findings((run_directory, &run), named)?;
    sink(&match end {
        Some(end) => Event::CampaignFinished { summary, end },
        None => Event::Progress {
            summary,
            waiting: 0,
            investigating: Vec::new(),
            starting: StartingWorkers::default(),
        },
    });
    Ok(())
}

/// The error with what helps if the file of a finding cannot be understood.
fn damaged(error: StoreError) -> StoreError {
    match error {
        StoreError::Format { path, reason } => {
            let reason = format!(
                "{reason}: it is damaged: `twinfer fuzz --resume` makes it again if it is of a campaign"
            );
            StoreError::Format { path, reason }
        }
        error => error,
    }
}

/// The first format in which a run says how it ended.
pub const FIRST_WITH_END: u32 = 4;
