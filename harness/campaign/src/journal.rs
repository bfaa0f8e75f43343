use std::{
    fs::{self, DirEntry, File},
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use twinfer_case::{CaseRecord, RunInfo, Summary};

use crate::CampaignError;

/// Records between two writes to disk: a killed campaign loses at most these, and finds them again when it resumes.
const BATCH: u32 = 64;

/// How the names of files begin that are not whole yet.
const UNFINISHED: &str = ".unfinished-";

/// `journal.jsonl` of a run directory: one line a case, in case order, append only.
pub struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
    unwritten: u32,
}

impl Journal {
    /// Makes the run directory with its `run.json` and an empty journal.
    pub fn create(out: &Path, run: &RunInfo) -> Result<Self, CampaignError> {
        fs::create_dir_all(out).map_err(CampaignError::file(out))?;
        remove_unfinished(out)?;
        write_json(&out.join("run.json"), run)?;
        let path = out.join("journal.jsonl");
        let file = File::create(&path).map_err(CampaignError::file(&path))?;
        Ok(Self { path, file: BufWriter::new(file), unwritten: 0 })
    }

    /// Opens the journal of a run that ended early, without a last line that was cut short, and what it comes to.
    pub fn resume(out: &Path, run: &RunInfo) -> Result<(Self, Summary), CampaignError> {
        let info = out.join("run.json");
        if !continues(&read_json(&info)?, run) {
            return Err(CampaignError::OtherRun(info));
        }
        let path = out.join("journal.jsonl");
        // a campaign may be killed before it has a journal
        let mut options = File::options();
        let file = options.read(true).append(true).create(true).open(&path);
        let file = file.map_err(CampaignError::file(&path))?;
        let mut summary = Summary::new(run.variants.iter().map(|info| info.variant.clone()));
        let (mut reader, mut line, mut whole) = (BufReader::new(&file), Vec::new(), 0);
        while reader.read_until(b'\n', &mut line).map_err(CampaignError::file(&path))? > 0 {
            let Some(record) = line.strip_suffix(b"\n") else { break };
            summary.record(&serde_json::from_slice(record).map_err(CampaignError::format(&path))?);
            whole += line.len() as u64;
            line.clear();
        }
        drop(reader);
        file.set_len(whole).map_err(CampaignError::file(&path))?;
        Ok((Self { path, file: BufWriter::new(file), unwritten: 0 }, summary))
    }

    /// Adds a case.
    pub fn append(&mut self, record: &CaseRecord) -> Result<(), CampaignError> {
        serde_json::to_writer(&mut self.file, record).map_err(CampaignError::format(&self.path))?;
        self.file.write_all(b"\n").map_err(CampaignError::file(&self.path))?;
        self.unwritten += 1;
        if self.unwritten >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<(), CampaignError> {
        self.unwritten = 0;
        self.file.flush().map_err(CampaignError::file(&self.path))
    }
}

/// Whether a run with these options gives the rest of the cases that the earlier one began with.
fn continues(earlier: &RunInfo, run: &RunInfo) -> bool {
    earlier.format == run.format
        && earlier.twinfer == run.twinfer
        && earlier.seed == run.seed
        && earlier.families == run.families
        && earlier.shard == run.shard
        && earlier.variants == run.variants
}

/// Reads a JSON file that this crate writes.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, CampaignError> {
    let bytes = fs::read(path).map_err(CampaignError::file(path))?;
    serde_json::from_slice(&bytes).map_err(CampaignError::format(path))
}

/// Writes `value` so that the file is there whole or not at all.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), CampaignError> {
    let mut text = serde_json::to_string_pretty(value).map_err(CampaignError::format(path))?;
    text.push('\n');
    write(path, text.as_bytes())
}

/// Writes `bytes` so that the file is there whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), CampaignError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder).map_err(CampaignError::file(path))?;
    file.write_all(bytes).map_err(CampaignError::file(path))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode).map_err(CampaignError::file(path))?;
    file.persist(path).map(|_| ()).map_err(|error| CampaignError::file(path)(error.error))
}

/// Removes the files in `folder` that a killed process left before they were whole.
pub fn remove_unfinished(folder: &Path) -> Result<(), CampaignError> {
    let entries = fs::read_dir(folder).map_err(CampaignError::file(folder))?;
    let is_unfinished =
        |entry: &DirEntry| entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
    for entry in entries.filter_map(Result::ok).filter(is_unfinished) {
        fs::remove_file(entry.path()).map_err(CampaignError::file(&entry.path()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_killed_before_it_had_a_journal_begins_with_an_empty_one() {
        let out = tempfile::tempdir().unwrap();
        let run = serde_json::json!({
            "format": twinfer_case::JOURNAL_FORMAT, "twinfer": "1", "seed": 1, "families": [], "budget": {"cases": 1},
            "shard": [0, 1], "jobs": 1, "variants": [], "machine": {"os": "", "arch": "", "cores": 1}, "started": 0,
        });
        let run: RunInfo = serde_json::from_value(run).unwrap();
        write_json(&out.path().join("run.json"), &run).unwrap();
        let (_, summary) = Journal::resume(out.path(), &run).unwrap();
        assert_eq!(summary.cases, 0);
    }

    #[test]
    fn files_that_are_not_whole_are_removed_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let names = |folder: &Path| {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
        };
        write(&folder.path().join("finding.json"), b"{}").unwrap();
        // a file that is being written is what a killed process leaves
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder.path()).unwrap();
        unfinished.keep().unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        remove_unfinished(folder.path()).unwrap();
        assert_eq!(names(folder.path()), ["finding.json"]);
    }
}
