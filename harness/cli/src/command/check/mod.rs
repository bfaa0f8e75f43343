mod advice;
mod arguments;
mod campaign;
mod collection;
mod entry;
mod recognition;
mod subject;
mod survey;
mod table;

use std::{path::Path, sync::Arc};

use twinfer_reports::{Report, incomplete};
use twinfer_store::{RunDirectory, findings_of, has_case, record_recognized, without_recordings};
use twinfer_targets::OpaqueModel;

pub use self::arguments::Arguments;
use self::{
    campaign::{Checked, Running},
    collection::Collection,
    subject::Subject,
};
use crate::{
    Exit, Failure, asked,
    finding_folder::ensure_case,
    interruption,
    known::{known_folders, warn_of_incomplete},
    output::{note, warning, write},
    page,
    run_log::RunLog,
    worker::WorkerSettings,
};

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let models: Vec<_> = without_recordings(&arguments.models).cloned().collect();
    models.iter().try_for_each(|path| ensure_case(path))?;
    let cases = match (Collection::of(&models)?, models.as_slice()) {
        (Some(cases), _) => cases,
        (None, [one]) if !arguments.record && !arguments.recorded => return check_one(one, arguments),
        (None, paths) => Collection::listed(paths)?,
    };
    interruption::end_command();
    survey::run(&cases, arguments)
}

fn check_one(model: &Path, arguments: &Arguments) -> Result<Exit, Failure> {
    let stop = Arc::default();
    interruption::stop_check(&stop);
    let subject = Subject::read(model, arguments)?;
    let scratch = tempfile::tempdir().map_err(Failure::environment)?;
    let directory = RunDirectory::create(arguments.out.as_deref().unwrap_or(scratch.path()))?;
    let variants = asked::variants(arguments.backends.as_ref(), subject.finding())?;
    let log = RunLog::start_if_requested(arguments.log, arguments.out.as_deref())?;
    let advice = subject.advice(&arguments.inputs);
    let finding = subject.finding().map(|finding| finding.signature.slug());
    if let Some(dimensions) = advice.dimensions() {
        note!("{dimensions}");
    }
    if let Subject::Opaque(model) = &subject {
        note_opaque(model, variants.len());
    }
    let known = known_folders(&arguments.known)?;
    warn_of_incomplete(&known)?;
    let settings = WorkerSettings { log: log.as_ref(), limits: arguments.limits };
    let running = Running { variants, directory: &directory, settings, stop };
    let path = model.display().to_string();
    let mut report = match subject {
        Subject::Cases(cases) => campaign::run(Checked { path, cases, finding: None, known }, running)?,
        Subject::Finding(finding, cases) => {
            let checked = Checked { path, cases, finding: Some(&finding), known };
            campaign::run(checked, running)?
        }
        Subject::Opaque(opaque) => campaign::compare(&opaque, &known, running)?,
    };
    record_known(&report, &directory)?;
    report.advice = advice.on(&report.summary);
    report.incomplete = incomplete(&report).filter(|_| arguments.require_complete);
    let page = arguments.out.as_ref().map(|out| page::write_into(out, &report));
    write(&arguments.format.render(&report));
    match page {
        Some(page) => note!("{page}"),
        None => note_not_kept(&report, &directory),
    }
    if let Some(slug) = finding.filter(|slug| report.summary.findings.iter().all(|seen| seen.slug != *slug)) {
        if report.summary.causes().is_empty() {
            note!("finding {slug} does not show on these backends");
        } else {
            note!("whether finding {slug} shows on these backends is not known: see what was not compared");
        }
    }
    let died = died(&report);
    let incomplete = report.incomplete.as_ref().map(|why| {
        warning!("--require-complete: {why}");
        Exit::NothingCompared
    });
    Ok(match Exit::of_campaign(&report) {
        Exit::Conforms => died.or(incomplete).unwrap_or(Exit::Conforms),
        exit => exit,
    })
}

/// Keeps which findings of the run are known, so that what is read of it later says the same.
fn record_known(report: &Report, directory: &RunDirectory) -> Result<(), Failure> {
    let known = report.findings.iter().filter(|found| !found.new);
    let known: Vec<_> = known.map(|found| found.slug.clone()).collect();
    if known.is_empty() { Ok(()) } else { Ok(record_recognized(directory, known)?) }
}

/// Says what a model is compared with that golden does not support as a whole.
fn note_opaque(model: &OpaqueModel, backends: usize) {
    let unknown = &model.unknown;
    match (model.has_supported_part(), backends) {
        (true, 1) => note!("{unknown}, so backends are compared with it only on parts of the model"),
        (true, _) => note!(
            "{unknown}, so backends are compared with it only on parts of the model, and with each other on the whole"
        ),
        (false, 1) => {}
        (false, _) => {
            note!(
                "golden supports no part of the model ({unknown}), so backends are compared only with each other"
            );
        }
    }
}

/// Says how to keep the new findings. Those of a model that golden does not support may have no case to reproduce.
fn note_not_kept(report: &Report, directory: &RunDirectory) {
    let mut new = report.findings.iter().filter(|found| found.new).peekable();
    if new.peek().is_none() {
        return;
    }
    let findings = findings_of(directory.path());
    let has_case = new.any(|found| has_case(&findings.join(&found.slug)));
    let what_for = if has_case { "`twinfer repro` and `twinfer adopt`" } else { "`twinfer adopt`" };
    note!("the findings are not kept: --out DIR keeps a folder of each, for {what_for}");
}

/// Says that workers ended and that no finding tells, because their cases ran to the end when they were repeated.
fn died(report: &Report) -> Option<Exit> {
    let lost: Vec<_> = report.lost_without_finding().collect();
    let first = lost.first()?;
    warning!(
        "{} died, but not when the case ran again, so there is no finding: {}: {}",
        if lost.len() == 1 { "a worker".to_owned() } else { format!("{} workers", lost.len()) },
        first.variant,
        first.reason
    );
    Some(Exit::Environment)
}
