use std::{
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use twinfer_case::{
    Event, FINDING_FORMAT, Finding, JOURNAL_FORMAT, MAX_FILE_BYTES, Records, RecordsError, RunInfo, Summary,
    check_format, read_file,
};

use crate::Reporter;

/// Why a run directory cannot be reported.
#[derive(Debug, thiserror::Error)]
pub enum StoredRunError {
    /// A file is absent or cannot be read.
    #[error("cannot read {}: {source}: give the directory that `twinfer fuzz --out` wrote", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not in a format of this version.
    #[error("cannot understand {}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl From<RecordsError> for StoredRunError {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Io { path, source } => Self::Io { path, source },
            RecordsError::Format { path, reason } => Self::Format { path, reason },
        }
    }
}

/// Tells `reporter` the events of a campaign that is over, or was killed, out of its run directory; the cases are read as
/// [`Records`] has them.
pub fn retell(run_directory: &Path, reporter: &mut dyn Reporter) -> Result<(), StoredRunError> {
    let path = run_directory.join("run.json");
    let run: RunInfo = read_json(&path)?;
    check_format(run.format, JOURNAL_FORMAT).map_err(senseless(&path))?;
    let mut summary = Summary::new(&run.variants);
    reporter.hear(&Event::CampaignStarted { run });
    for record in Records::open(run_directory)? {
        let record = record?;
        summary.record(&record);
        reporter.hear(&Event::CaseFinished { record });
    }
    for path in findings(&run_directory.join("findings")) {
        let finding: Finding = read_json(&path)?;
        check_format(finding.format, FINDING_FORMAT).map_err(senseless(&path))?;
        reporter.hear(&Event::FindingRecorded { slug: finding.signature.slug(), finding, new: true });
    }
    reporter.hear(&Event::CampaignFinished { summary });
    Ok(())
}

/// The files of the findings in order of their folder names; a run without findings may lack the folder.
fn findings(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path().join("finding.json")).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoredRunError> {
    let bytes = read_file(path, MAX_FILE_BYTES)
        .map_err(|source| StoredRunError::Io { path: path.to_owned(), source })?;
    serde_json::from_slice(&bytes).map_err(senseless(path))
}

/// For `map_err`: contents of `path` that make no sense.
fn senseless<E: Display>(path: &Path) -> impl FnOnce(E) -> StoredRunError {
    |reason| StoredRunError::Format { path: path.to_owned(), reason: reason.to_string() }
}
