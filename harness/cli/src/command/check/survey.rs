//! Checks several cases and reports a table of verdicts.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use twinfer_case::Case;
use twinfer_store::{RecordedObservation, Recording};

use super::{arguments::Arguments, collection::Collection, entry::Entry, table::table};
use crate::{
    Exit, Failure,
    output::{note, write},
    run_log::RunLog,
    targets,
};

pub fn run(collection: &Collection, arguments: &Arguments) -> Result<Exit, Failure> {
    let mut entries = collection.0.iter().map(|folder| Entry::read(folder)).collect::<Result<Vec<_>, _>>()?;
    if arguments.recorded {
        for entry in &mut entries {
            entry.observations.clone_from(&entry.stored);
        }
    } else {
        observe(&mut entries, arguments)?;
    }
    let text = table(&entries).render(arguments.format).ok_or_else(|| {
        Failure::usage(format!(
            "a table of cases cannot be written as {}: use terminal, json or markdown",
            arguments.format
        ))
    })?;
    write(&text);
    Ok(if entries.iter().any(Entry::has_new_divergence) { Exit::Findings } else { Exit::Conforms })
}

/// Runs every case on every variant, with progress on standard error.
fn observe(entries: &mut [Entry], arguments: &Arguments) -> Result<(), Failure> {
    let runnable: Vec<&Entry> = entries.iter().filter(|entry| entry.case.is_some()).collect();
    let cases: Vec<Case> = runnable.iter().filter_map(|entry| entry.case.clone()).collect();
    let log = RunLog::start_if_requested(arguments.log, None)?;
    let targets = targets::start(&arguments.backends.subjects(), log.as_ref())?;
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
        note!("{finished} of {all} observations");
    }
}

/// Observations between two lines of progress.
const PROGRESS_PERIOD: usize = 50;
