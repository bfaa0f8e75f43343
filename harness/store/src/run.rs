//! What a run records about itself: options, machine, and the number of workers.

use std::{
    hash::{BuildHasher, RandomState},
    num::NonZero,
    path::Path,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use twinfer_case::{
    JOURNAL_FORMAT, Machine, ProcessorUse, RunEnd, RunInfo, RunTotals, Workforce, check_format,
};

use crate::{
    RunDirectory, StoreError,
    files::{read_json, write_json_durably},
    names::RUN,
};

/// How a campaign ended, and what it took since it was started or last resumed.
pub struct RunEnded {
    /// How it ended.
    pub end: RunEnd,
    /// What it took; `None` if it failed.
    pub totals: Option<RunTotals>,
    /// The largest number of workers that each variant had at once.
    pub workforce: Vec<Workforce>,
    /// The processor time of the workers; `None` if it was not measured.
    pub processor: Option<ProcessorUse>,
}

/// Adds to the run in `directory` how it ended.
pub fn record_end(directory: &RunDirectory, ended: RunEnded) -> Result<(), StoreError> {
    let RunEnded { end, totals, workforce, processor } = ended;
    let path = directory.path().join(RUN);
    let run: RunInfo = read_json(&path)?;
    let before = run.totals.or(run.resumed.is_empty().then(RunTotals::default));
    let totals = before.zip(totals).map(|(before, now)| before + now);
    let run = RunInfo { workforce, processor, totals, end: Some(end), ..run };
    write_json_durably(&*directory.disk(), &path, &run)
}

/// Adds to the run in `directory` which of its findings turned out to be known ones.
pub fn record_recognized(directory: &RunDirectory, recognized: Vec<String>) -> Result<(), StoreError> {
    let path = directory.path().join(RUN);
    let run: RunInfo = read_json(&path)?;
    write_json_durably(&*directory.disk(), &path, &RunInfo { recognized, ..run })
}

/// The run in `directory`.
pub fn read_run(directory: &Path) -> Result<RunInfo, StoreError> {
    let path = directory.join(RUN);
    let run: RunInfo = read_json(&path).map_err(|error| match error {
        StoreError::File { path, source } => StoreError::NoRun { path, source },
        error => error,
    })?;
    check_format(run.format, JOURNAL_FORMAT).map_err(StoreError::format(path))?;
    Ok(run)
}

/// The machine on which this process runs.
pub fn machine() -> Machine {
    Machine {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cores: thread::available_parallelism().map_or(1, NonZero::get),
    }
}

/// An id for a new run: random, so that no two runs have the same.
pub fn run_id() -> String {
    // the only source of randomness in the standard library
    let random = || RandomState::new().hash_one(SystemTime::now());
    format!("{:016x}{:016x}", random(), random())
}

/// The current time in seconds since 1970-01-01 UTC.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
