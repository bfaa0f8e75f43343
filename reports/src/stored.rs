use std::{
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use twinfer_case::{
    CaseRecord, Event, Finding, JOURNAL_FORMAT, MAX_FILE_BYTES, RunInfo, Summary, read_file, read_line,
};

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

/// The events of a campaign that is over, or was killed, out of its run directory.
///
/// Of a journal that was cut off in the middle of a line, everything before that line is taken.
pub fn stored_events(run_directory: &Path) -> Result<Vec<Event>, StoredRunError> {
    let run: RunInfo = read_json(&run_directory.join("run.json"))?;
    let mut summary = Summary::new(&run.variants);
    let mut events = vec![Event::CampaignStarted { run }];
    for record in journal(&run_directory.join("journal.jsonl"))? {
        summary.record(&record);
        events.push(Event::CaseFinished { record });
    }
    events.extend(findings(&run_directory.join("findings"))?);
    events.push(Event::CampaignFinished { summary });
    Ok(events)
}

fn journal(path: &Path) -> Result<Vec<CaseRecord>, StoredRunError> {
    let file = File::open(path).map_err(|source| StoredRunError::Io { path: path.to_owned(), source })?;
    let (mut file, mut line) = (BufReader::new(file), Vec::new());
    let mut records = Vec::new();
    while let Ok(true) = read_line(&mut file, &mut line) {
        let Ok(record) = serde_json::from_slice::<CaseRecord>(&line) else { break };
        if record.format > JOURNAL_FORMAT {
            let reason =
                format!("its format is {}, this version reads up to {JOURNAL_FORMAT}", record.format);
            return Err(StoredRunError::Format { path: path.to_owned(), reason });
        }
        records.push(record);
    }
    Ok(records)
}

/// In order of their folder names; a run without findings may lack the folder.
fn findings(folder: &Path) -> Result<Vec<Event>, StoredRunError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path().join("finding.json"))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths.iter().map(|path| finding(path)).collect()
}

fn finding(path: &Path) -> Result<Event, StoredRunError> {
    let finding: Finding = read_json(path)?;
    Ok(Event::FindingRecorded { slug: finding.signature.slug(), finding, new: true })
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoredRunError> {
    let bytes = read_file(path, MAX_FILE_BYTES)
        .map_err(|source| StoredRunError::Io { path: path.to_owned(), source })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| StoredRunError::Format { path: path.to_owned(), reason: error.to_string() })
}
