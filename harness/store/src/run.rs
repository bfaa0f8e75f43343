//! `run.json`: what a run is of.

use std::{
    num::NonZero,
    path::Path,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use twinfer_case::{Machine, RunInfo, Workforce};

use crate::{
    StoreError,
    files::{read_json, write_json},
    names::RUN,
};

/// Adds to `run.json` how many workers there came to be.
pub fn record_workforce(out: &Path, workforce: Vec<Workforce>) -> Result<(), StoreError> {
    let path = out.join(RUN);
    let run: RunInfo = read_json(&path)?;
    write_json(&path, &RunInfo { workforce, ..run })
}

/// The machine that this runs on.
pub fn machine() -> Machine {
    Machine {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cores: thread::available_parallelism().map_or(1, NonZero::get),
    }
}

/// Seconds since 1970-01-01 UTC.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
