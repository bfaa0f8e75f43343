use std::{fs, path::Path};

use serde::Serialize;

use crate::{BenchError, Cost, Fault, Spent};

/// The result of a benchmark, as written to its JSON file.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Worker processes per variant.
    pub jobs: usize,
    /// The results of the backends alone, without a campaign.
    pub alone: Vec<Alone>,
    /// Cases per second of all backends, golden and the checks in one loop; `None` if not measured.
    pub naive: Option<f64>,
    /// The result of the campaign; `None` if not measured.
    pub campaign: Option<Campaign>,
    /// The costs of a case, step by step.
    pub costs: Vec<Cost>,
}

/// The rate of a backend without a campaign.
#[derive(Debug, Serialize)]
pub struct Alone {
    /// The variant.
    pub backend: String,
    /// The number of processes, or of threads in one process.
    pub parallel: usize,
    /// Cases per second that reached the backend's last stage.
    pub rate: f64,
    /// Microseconds of processor time per case.
    pub processor: f64,
}

/// The rate and the cost of a campaign.
#[derive(Debug, Serialize)]
pub struct Campaign {
    /// The number of cases.
    pub cases: u64,
    /// The number of cases on which every variant was compared.
    pub compared: u64,
    /// Why variants were compared on no case, one line per cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncompared: Vec<String>,
    /// Compared cases per second.
    pub rate: f64,
    /// Multiply-accumulates of the median case.
    pub median_macs: u64,
    /// Processor seconds of supervisor and workers.
    pub spent: Spent,
}

impl Report {
    /// The highest rate of a backend alone; `None` if none was measured.
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
