use std::{
    fmt::Display,
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use twinfer_case::{
    CaseRecord, Event, FINDING_FORMAT, Finding, JOURNAL_FORMAT, MAX_FILE_BYTES, RunInfo, Summary,
    check_format, read_file, read_line,
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

/// Tells `reporter` the events of a campaign that is over, or was killed, out of its run directory; of the cases, one is held
/// at a time.
///
/// Of a journal that was cut off in the middle of a line, everything before that line is taken.
pub fn retell(run_directory: &Path, reporter: &mut dyn Reporter) -> Result<(), StoredRunError> {
    let path = run_directory.join("run.json");
    let run: RunInfo = read_json(&path)?;
    check_format(run.format, JOURNAL_FORMAT).map_err(senseless(&path))?;
    let mut summary = Summary::new(&run.variants);
    reporter.hear(&Event::CampaignStarted { run });
    for_each_case(&run_directory.join("journal.jsonl"), |record| {
        summary.record(&record);
        reporter.hear(&Event::CaseFinished { record });
    })?;
    for path in findings(&run_directory.join("findings")) {
        let finding: Finding = read_json(&path)?;
        check_format(finding.format, FINDING_FORMAT).map_err(senseless(&path))?;
        reporter.hear(&Event::FindingRecorded { slug: finding.signature.slug(), finding, new: true });
    }
    reporter.hear(&Event::CampaignFinished { summary });
    Ok(())
}

fn for_each_case(path: &Path, mut take: impl FnMut(CaseRecord)) -> Result<(), StoredRunError> {
    let file = File::open(path).map_err(|source| StoredRunError::Io { path: path.to_owned(), source })?;
    let (mut file, mut line) = (BufReader::new(file), Vec::new());
    let failed = |source| StoredRunError::Io { path: path.to_owned(), source };
    for number in 1.. {
        if !read_line(&mut file, &mut line).map_err(failed)? {
            break;
        }
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let record: CaseRecord = serde_json::from_slice(text)
            .map_err(|error| senseless(path)(format!("line {number}: {error}")))?;
        check_format(record.format, JOURNAL_FORMAT).map_err(senseless(path))?;
        take(record);
    }
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
