//! Checks several cases and reports a table of verdicts.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use twinfer_case::{Case, Comparisons};
use twinfer_reports::Format;
use twinfer_store::{RecordedObservation, Recording};

use super::{arguments::Arguments, collection::Collection, entry::Entry, table::table};
use crate::{
    Exit, Failure, asked,
    output::{note, warning, write},
    run_log::RunLog,
    targets,
    worker::WorkerSettings,
};

pub fn run(collection: &Collection, arguments: &Arguments) -> Result<Exit, Failure> {
    let unwritable = || {
        Failure::usage(format!(
            "a table of cases cannot be written as {}: use terminal, json or markdown",
            arguments.format
        ))
    };
    if !Format::TABLES.contains(&arguments.format) {
        return Err(unwritable());
    }
    arguments.inputs.refuse_for_case()?;
    if arguments.out.is_some() || !arguments.known.is_empty() || arguments.require_complete {
        return Err(Failure::usage(
            "--out, --known and --require-complete are for a single model or case: check the cases one at a time, or keep what they show with --record",
        ));
    }
    let mut entries =
        collection.cases.iter().map(|folder| Entry::read(folder)).collect::<Result<Vec<_>, _>>()?;
    if arguments.recorded {
        for entry in &mut entries {
            entry.observations.clone_from(&entry.stored);
        }
    } else {
        observe(&mut entries, arguments)?;
    }
    let uncompared = uncompared(&entries, arguments.recorded);
    let exit = Exit::of([
        entries.iter().any(Entry::has_new_divergence).then_some(Exit::Findings),
        (!uncompared.is_empty() || !collection.without_case.is_empty()).then_some(Exit::NothingCompared),
    ]);
    for folder in &collection.without_case {
        warning!("not run: {} holds a finding without its case", folder.display());
    }
    write(&table(&entries, uncompared).render(arguments.format).ok_or_else(unwritable)?);
    Ok(exit)
}

/// Why variants were compared on none of the cases, one line per cause; empty if every variant was compared.
fn uncompared(entries: &[Entry], recorded: bool) -> Vec<String> {
    let mut columns: BTreeMap<_, Comparisons> = BTreeMap::new();
    for observed in entries.iter().flat_map(|entry| &entry.observations) {
        let column = columns.entry((&observed.variant, &observed.version)).or_default();
        observed.record().iter().for_each(|record| column.record(record));
    }
    if columns.is_empty() {
        let none = if recorded { "no observation is stored" } else { "no case has a graph" };
        return vec![none.to_owned()];
    }
    let has_verdict = |entry: &Entry| entry.observations.iter().any(|one| one.verdict.is_some());
    if recorded && !entries.iter().any(has_verdict) {
        return vec!["no verdict is stored with the observations: check without --recorded".to_owned()];
    }
    columns.iter().flat_map(|((variant, _), comparisons)| comparisons.causes(variant)).collect()
}

/// Runs every case on every variant, with progress on standard error.
fn observe(entries: &mut [Entry], arguments: &Arguments) -> Result<(), Failure> {
    let runnable: Vec<&Entry> = entries.iter().filter(|entry| entry.case.is_some()).collect();
    let cases: Vec<Case> = runnable.iter().filter_map(|entry| entry.case.clone()).collect();
    let log = RunLog::start_if_requested(arguments.log, None)?;
    let settings = WorkerSettings { log: log.as_ref(), limits: arguments.limits };
    let targets = targets::start(&asked::variants(arguments.backends.as_ref(), None)?, settings)?;
    let (all, finished) = (cases.len() * targets.infos().count(), AtomicUsize::new(0));
    // stored as each arrives, so that a survey that ends early keeps what it observed
    let stored = Mutex::new(Ok(()));
    let by_variant = targets.survey(&cases, &|place, observation| {
        let mut stored = stored.lock().unwrap_or_else(PoisonError::into_inner);
        if arguments.record && stored.is_ok() {
            *stored = store(&runnable[place].folder, observation);
        }
        drop(stored);
        print_progress(finished.fetch_add(1, Ordering::Relaxed) + 1, all);
    })?;
    stored.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    for observations in by_variant {
        let runnable = entries.iter_mut().filter(|entry| entry.case.is_some());
        runnable.zip(observations).for_each(|(entry, observation)| entry.observations.push(observation));
    }
    Ok(())
}

fn store(folder: &Path, observation: &RecordedObservation) -> Result<(), Failure> {
    let mut recording = Recording::beside_or_empty(folder)?;
    recording.replace(observation.clone());
    Ok(recording.write_beside(folder)?)
}

fn print_progress(finished: usize, all: usize) {
    if finished.is_multiple_of(PROGRESS_PERIOD) || finished == all {
        note!("{finished} of {all} runs");
    }
}

/// Observations between two lines of progress.
const PROGRESS_PERIOD: usize = 50;
