use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use twinfer_case::{CaseRecord, RunInfo};

use crate::CampaignError;

/// Records between two writes to disk: a killed campaign loses at most these, and finds them again when it resumes.
const BATCH: u32 = 64;

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
        write_json(&out.join("run.json"), run)?;
        let path = out.join("journal.jsonl");
        let file = File::create(&path).map_err(CampaignError::file(&path))?;
        Ok(Self { path, file: BufWriter::new(file), unwritten: 0 })
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

/// Writes `value` so that the file is there whole or not at all.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), CampaignError> {
    let mut text = serde_json::to_string_pretty(value).map_err(CampaignError::format(path))?;
    text.push('\n');
    write(path, text.as_bytes())
}

/// Writes `bytes` so that the file is there whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), CampaignError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(CampaignError::file(path))?;
    file.write_all(bytes).map_err(CampaignError::file(path))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode).map_err(CampaignError::file(path))?;
    file.persist(path).map(|_| ()).map_err(|error| CampaignError::file(path)(error.error))
}
