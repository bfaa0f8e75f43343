//! A campaign over cases that are given instead of generated.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use twinfer_campaign::{Campaign, Options};
use twinfer_case::{Budget, Case, Variant};
use twinfer_reports::{Report, Reporter};
use twinfer_targets::Opaque;

use crate::{Failure, subjects, worker::worker_for};

/// Runs `cases` on `variants`, in order and as they are; what diverges is written to `out`.
pub fn run(cases: Vec<Case>, variants: Vec<Variant>, out: PathBuf) -> Result<Report, Failure> {
    let worker = worker_for(&variants)?;
    let options = Options {
        families: Vec::new(),
        budget: Budget::Cases(cases.len() as u64),
        jobs: NonZeroUsize::MIN,
        minimize: false,
        fresh_every: 0,
        source: Some(Arc::new(move |index| cases[index as usize % cases.len()].clone())),
        ..Options::new(variants, worker, out)
    };
    let mut report = Report::default();
    Campaign::new(options)?.run(&mut |event| report.hear(event))?;
    Ok(report)
}

/// Compares `variants` with each other on a model that golden does not know; where they differ is written to `out`.
pub fn compare(opaque: &Opaque, variants: &[Variant], out: &Path) -> Result<Report, Failure> {
    let mut report = Report::default();
    subjects::start(variants)?.compare(opaque, out, &mut |event| report.hear(event))?;
    Ok(report)
}
