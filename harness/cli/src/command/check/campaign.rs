//! A campaign over given cases instead of generated ones.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use twinfer_campaign::{Campaign, Configurations, Options};
use twinfer_case::{Budget, Case, CaseRecord, Event, Finding, TrustedVariant};
use twinfer_libraries::Hashing;
use twinfer_onnx::ValueInfo;
use twinfer_reports::{Report, ReportedFinding, Reporter};
use twinfer_store::RunDirectory;
use twinfer_targets::OpaqueModel;
use twinfer_triage::{Matching, Scrutiny};

use super::recognition::{CheckedRun, recognize};
use crate::{
    Failure,
    provision::{provision, verify_in_background},
    targets, terminal,
    worker::{WorkerSettings, worker_with},
};

/// What is checked.
pub struct Checked<'a> {
    /// The path of the model or case.
    pub path: String,
    pub cases: Vec<Case>,
    /// The finding whose own cases these are.
    pub finding: Option<&'a Finding>,
    /// Folders of known findings.
    pub known: Vec<PathBuf>,
}

/// How a check runs.
pub struct Running<'a> {
    pub variants: Vec<TrustedVariant>,
    /// Where findings are written.
    pub directory: &'a RunDirectory,
    pub settings: WorkerSettings<'a>,
    /// Ends it early once set.
    pub stop: Arc<AtomicBool>,
}

/// Runs the cases on the variants, in order and without minimizing. A finding that is the checked one, or
/// that it lists beside its own, is not new, and its recurrence is what a variant was compared with, whatever its stage.
pub fn run(
    Checked { path, cases, finding, known }: Checked<'_>,
    Running { variants, directory, settings, stop }: Running<'_>,
) -> Result<Report, Failure> {
    let outputs = outputs(cases.first().map_or(&[], |case| &case.graph.outputs));
    let provision = provision(&variants)?;
    let mut worker = worker_with(&provision)?;
    settings.apply_to(&mut worker);
    let options = Options {
        families: Vec::new(),
        budget: Budget::Cases(cases.len() as u64),
        jobs: NonZeroUsize::MIN,
        libraries: verify_in_background(provision, Hashing::Cached),
        known: known.clone(),
        matching: Matching::Exact,
        minimize: false,
        deadlines: settings.deadlines(),
        scrutiny: Scrutiny::Rounded,
        fresh_every: 0,
        configurations: finding.map_or(Configurations::Differ, |_| Configurations::MayRepeat),
        checked: Some(path),
        stop,
        source: Some(Arc::new(move |index| cases[index as usize % cases.len()].clone())),
        ..Options::new(variants, worker)
    };
    let (mut report, mut records) = (Report::default(), Vec::new());
    let mut progress = terminal::brief_progress();
    Campaign::new(options)?.run(directory, &mut |event| {
        if let Event::CaseFinished { record } = event {
            records.push(record.clone());
        }
        progress.on_event(event);
        report.on_event(event);
    })?;
    let run = CheckedRun { records: &records, outputs: &outputs, directory };
    let not_checked = recognize(&mut report, &run, &known, finding)?;
    if let Some(checked) = finding {
        recognize_checked(&mut report, &records, checked, &not_checked);
    }
    Ok(report)
}

/// Marks the findings of `report` that `checked` records as known, unless they are among `not_checked`, and counts the cases of `records` that show them
/// as compared.
fn recognize_checked(
    report: &mut Report,
    records: &[CaseRecord],
    checked: &Finding,
    not_checked: &BTreeSet<String>,
) {
    let is_recorded = |found: &ReportedFinding| {
        // the minimal case of a finding that a segment shows is that segment
        let is_shown =
            |record: &CaseRecord| record.case == checked.case && record.findings.contains(&found.slug);
        let is_it = checked.recurs_as(&found.finding)
            || checked.lists_beside(&found.finding)
            || checked.current_signature() == found.finding.current_signature()
                && records.iter().any(is_shown);
        is_it && !not_checked.contains(&found.slug)
    };
    for found in report.findings.iter().filter(|found| found.new && is_recorded(found)) {
        let slug = found.finding.signature.slug();
        let showing = records.iter().filter(|record| record.findings.contains(&slug));
        showing.for_each(|record| report.summary.recognize(record, &found.finding));
    }
    report.mark_known(is_recorded);
}

/// Compares the variants with each other on a model that golden does not support. Findings in the folders
/// `known` are not new.
pub fn compare(
    opaque: &OpaqueModel,
    known: &[PathBuf],
    Running { variants, directory, settings, stop }: Running<'_>,
) -> Result<Report, Failure> {
    let (mut report, mut records) = (Report::default(), Vec::new());
    let mut progress = terminal::brief_progress();
    let targets = targets::start(&variants, settings)?;
    targets.compare(opaque, directory, &stop, &mut |event| {
        if let Event::CaseFinished { record } = event {
            records.push(record.clone());
        }
        progress.on_event(event);
        report.on_event(event);
    })?;
    let outputs = outputs(&opaque.interface.outputs);
    recognize(&mut report, &CheckedRun { records: &records, outputs: &outputs, directory }, known, None)?;
    Ok(report)
}

fn outputs(infos: &[ValueInfo]) -> Vec<String> {
    infos.iter().map(|info| info.name.clone()).collect()
}
