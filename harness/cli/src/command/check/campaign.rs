//! A campaign over given cases instead of generated ones.

use std::{num::NonZeroUsize, sync::Arc};

use twinfer_campaign::{Campaign, Options};
use twinfer_case::{Budget, Case, Finding, TrustedVariant, VariantSummary};
use twinfer_libraries::Hashing;
use twinfer_reports::{Report, Reporter};
use twinfer_store::RunDirectory;
use twinfer_targets::OpaqueModel;
use twinfer_triage::Scrutiny;

use crate::{
    Failure,
    libraries::verify_in_background,
    provision::provision,
    targets,
    worker::{WorkerSettings, worker_with},
};

/// Runs `cases` on `variants`, in order and without minimizing; findings are written to `directory`.
pub fn run(
    cases: Vec<Case>,
    variants: Vec<TrustedVariant>,
    directory: &RunDirectory,
    settings: WorkerSettings<'_>,
) -> Result<Report, Failure> {
    let provision = provision(&variants)?;
    let mut worker = worker_with(&provision)?;
    settings.apply_to(&mut worker);
    let options = Options {
        families: Vec::new(),
        budget: Budget::Cases(cases.len() as u64),
        jobs: NonZeroUsize::MIN,
        libraries: verify_in_background(provision, Hashing::Cached),
        minimize: false,
        scrutiny: Scrutiny::Rounded,
        fresh_every: 0,
        source: Some(Arc::new(move |index| cases[index as usize % cases.len()].clone())),
        ..Options::new(variants, worker)
    };
    let mut report = Report::default();
    Campaign::new(options)?.run(directory, &mut |event| report.on_event(event))?;
    Ok(report)
}

/// Marks the finding of `report` that is the `checked` one as known. That it recurs is what a variant was compared with,
/// whatever its stage.
pub fn recognize(mut report: Report, checked: &Finding) -> Report {
    for found in &mut report.findings {
        if found.new && checked.recurs_as(&found.finding) {
            found.new = false;
            report.summary.new_findings = report.summary.new_findings.saturating_sub(1);
            let shows = |summary: &&mut VariantSummary| found.finding.is_seen_in(&summary.variant);
            report.summary.variants.iter_mut().filter(shows).for_each(|summary| summary.comparisons.count());
        }
    }
    report
}

/// Compares `variants` with each other on a model that golden does not support; findings are written to `directory`.
pub fn compare(
    opaque: &OpaqueModel,
    variants: &[TrustedVariant],
    directory: &RunDirectory,
    settings: WorkerSettings<'_>,
) -> Result<Report, Failure> {
    let mut report = Report::default();
    let targets = targets::start(variants, settings)?;
    targets.compare(opaque, directory, &mut |event| report.on_event(event))?;
    Ok(report)
}
