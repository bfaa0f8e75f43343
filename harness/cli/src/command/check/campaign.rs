//! A campaign over given cases instead of generated ones.

use std::{num::NonZeroUsize, sync::Arc};

use twinfer_campaign::{Campaign, Options};
use twinfer_case::{Budget, Case, TrustedVariant};
use twinfer_reports::{Report, Reporter};
use twinfer_store::RunDirectory;
use twinfer_targets::OpaqueModel;

use crate::{Failure, run_log::RunLog, targets, worker::worker_for};

/// Runs `cases` on `variants`, in order and without minimizing; findings are written to `directory`.
pub fn run(
    cases: Vec<Case>,
    variants: Vec<TrustedVariant>,
    directory: &RunDirectory,
    log: Option<&RunLog>,
) -> Result<Report, Failure> {
    let mut worker = worker_for(&variants)?;
    if let Some(log) = log {
        log.extend_to(&mut worker);
    }
    let options = Options {
        families: Vec::new(),
        budget: Budget::Cases(cases.len() as u64),
        jobs: NonZeroUsize::MIN,
        minimize: false,
        fresh_every: 0,
        source: Some(Arc::new(move |index| cases[index as usize % cases.len()].clone())),
        ..Options::new(variants, worker)
    };
    let mut report = Report::default();
    Campaign::new(options)?.run(directory, &mut |event| report.on_event(event))?;
    Ok(report)
}

/// Compares `variants` with each other on a model that golden does not support; findings are written to `directory`.
pub fn compare(
    opaque: &OpaqueModel,
    variants: &[TrustedVariant],
    directory: &RunDirectory,
    log: Option<&RunLog>,
) -> Result<Report, Failure> {
    let mut report = Report::default();
    targets::start(variants, log)?.compare(opaque, directory, &mut |event| report.on_event(event))?;
    Ok(report)
}
