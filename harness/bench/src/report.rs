use std::{fs, path::Path};

use serde::Serialize;

use crate::{BenchError, Cost, Fault, Spent};

/// What a benchmark came to, as its JSON file has it.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Worker processes a variant.
    pub jobs: usize,
    /// Loops over the cases with nothing around them.
    pub alone: Vec<Alone>,
    /// Cases a second of all backends, golden and the checks in one loop.
    pub naive: Option<f64>,
    /// The campaign.
    pub campaign: Option<Campaign>,
    /// Where a case's time goes.
    pub costs: Vec<Cost>,
}

/// A backend alone.
#[derive(Debug, Serialize)]
pub struct Alone {
    /// Which one.
    pub backend: String,
    /// Processes, or threads of one process.
    pub parallel: usize,
    /// Cases a second that it took as far as it goes.
    pub rate: f64,
    /// Microseconds of processor time for each of them.
    pub processor: f64,
}

/// A campaign.
#[derive(Debug, Serialize)]
pub struct Campaign {
    /// Cases.
    pub cases: u64,
    /// Those that were executed and compared.
    pub compared: u64,
    /// Of these, so many a second.
    pub rate: f64,
    /// Multiply-accumulates of the middle case.
    pub median_macs: u64,
    /// Processor seconds.
    pub spent: Spent,
}

impl Report {
    /// The best rate of a backend alone.
    pub fn best_alone(&self, backend: &str) -> Option<f64> {
        self.alone.iter().filter(|alone| alone.backend == backend).map(|alone| alone.rate).reduce(f64::max)
    }

    /// Writes the report to `path` as JSON.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), BenchError> {
        let mut text = serde_json::to_string_pretty(self).map_err(Fault::environment)?;
        text.push('\n');
        let failed = |error| Fault::environment(format!("cannot write {}: {error}", path.display()));
        Ok(fs::write(path, text).map_err(failed)?)
    }
}
