//! Writes the events of a campaign to the debug log. The crates that start workers and write files log what is no event.

use tracing::{debug, info, trace};
use twinfer_case::{Event, ProcessorUse, RunEnd, RunInfo, Summary};

/// Logs an event that reporters receive.
pub fn log(event: &Event) {
    match event {
        Event::CampaignStarted { run } => log_start(run),
        Event::CaseFinished { record } => {
            trace!(case = record.index, findings = record.findings.join(","), "case recorded");
        }
        Event::NotConfirmed { case, divergence } => {
            info!(hash = case.to_string(), kind = divergence.kind.to_string(), "divergence did not recur");
        }
        Event::Minimizing { case, size, tried } => {
            trace!(hash = case.to_string(), nodes = size.nodes, candidates = tried, "smaller case accepted");
        }
        Event::FindingRecorded { slug, finding, new } => {
            info!(slug, new, case = finding.provenance.as_ref().map(|one| one.index), "finding recorded");
        }
        Event::FindingRestored { slug, .. } => info!(slug, "finding restored"),
        Event::WorkersEnded { processor } => {
            let ProcessorUse { cases_millis, investigations_millis, rungs_millis } = processor;
            info!(cases_millis, investigations_millis, rungs_millis, "processor time of workers");
        }
        Event::CampaignFinished { summary, end } => log_end(summary, end),
        // logged with their process, device or investigation by the code that sends them
        Event::WorkerStarted { .. }
        | Event::WorkerLost { .. }
        | Event::WorkerOutgrown { .. }
        | Event::WorkforceChanged { .. }
        | Event::DeviceGivenUp { .. }
        | Event::Confirming { .. }
        | Event::Investigated { .. }
        | Event::Progress { .. } => {}
    }
}

fn log_start(run: &RunInfo) {
    let RunInfo { twinfer, distribution, seed, budget, shard, jobs, families, .. } = run;
    let (budget, families) = (format!("{budget:?}"), families.join(","));
    info!(twinfer, %distribution, seed, budget, %shard, jobs, families, "campaign started");
    for info in &run.variants {
        let backend = format!("{} {}", info.description.name, info.description.version);
        let rung_of = info.rung_of.as_ref().map(ToString::to_string);
        debug!(variant = info.variant.to_string(), backend, rung_of, "variant takes part");
    }
}

fn log_end(summary: &Summary, end: &RunEnd) {
    let Summary { cases, compared, seconds, new_findings, open, workers_lost, .. } = summary;
    let findings = summary.findings.len();
    let end = end.to_string();
    info!(cases, compared, seconds, findings, new_findings, open, workers_lost, end, "campaign finished");
}
