use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, Write},
    mem,
    path::PathBuf,
    time::Instant,
};

use tracing::{debug, warn};
use twinfer_case::{CaseRecord, RunInfo, Summary};

use crate::{
    Records, RunDirectory, StoreError,
    files::{read_json, write_json},
    lines::Position,
    names::{FINDINGS, JOURNAL, REVISITED, RUN},
};

/// Records between two writes to disk. A killed campaign loses at most this many, and runs them again when it is resumed.
const BATCH: u32 = 64;

/// The journal of a run directory: one line per case, append only. A second file, append only as well, holds the cases that are
/// decided again.
pub struct Journal {
    cases: JournalFile,
    /// `None` until a case is decided again.
    revisited: Option<JournalFile>,
    run: RunInfo,
    folder: PathBuf,
    unwritten: u32,
}

/// A file to which records are added, one line each.
struct JournalFile {
    path: PathBuf,
    file: BufWriter<File>,
    end: Position,
}

/// A journal to which the rest of the run is appended.
pub struct Resumed {
    /// The run as it was begun.
    pub run: RunInfo,
    /// The journal, without an incomplete last record.
    pub journal: Journal,
    /// The summary of all cases.
    pub summary: Summary,
    /// The summary of the cases that are not open.
    pub settled: Summary,
    /// The cases with a divergence that was not triaged.
    pub open: OpenCases,
}

/// The cases of a journal with a divergence that was not triaged, which a resumed run decides again, by their index in the campaign.
pub type OpenCases = BTreeMap<u64, CaseRecord>;

impl Journal {
    /// Begins `run` in a directory that was claimed for a new one.
    pub fn create(directory: &RunDirectory, run: &RunInfo) -> Result<Self, StoreError> {
        let out = directory.path();
        write_json(&out.join(RUN), run)?;
        let findings = out.join(FINDINGS);
        fs::create_dir_all(&findings).map_err(StoreError::writing(findings))?;
        let start = Position::start(run, JOURNAL);
        Self::new(directory, run.clone(), start)
    }

    fn new(directory: &RunDirectory, run: RunInfo, end: Position) -> Result<Self, StoreError> {
        let folder = directory.path().to_owned();
        let file = BufWriter::new(directory.journal()?);
        let cases = JournalFile { path: folder.join(JOURNAL), file, end };
        Ok(Self { cases, revisited: None, run, folder, unwritten: 0 })
    }

    /// Opens the journal of a run that ended early, in a directory that was claimed to resume it, and drops what was not written
    /// completely. An error if `run` differs from that run in a way that changes its cases, or if the journal is not as it was
    /// written.
    pub fn resume(directory: &RunDirectory, run: &RunInfo) -> Result<Resumed, StoreError> {
        let out = directory.path();
        let info = out.join(RUN);
        let mut earlier: RunInfo = read_json(&info)?;
        if !continues(&earlier, run) {
            return Err(StoreError::OtherRun(info));
        }
        let (mut summary, mut settled) = (Summary::new(&run.variants), Summary::new(&run.variants));
        let mut open = OpenCases::new();
        let mut records = Records::open(out, &earlier)?;
        for record in records.by_ref() {
            let record = record?;
            summary.record(&record);
            if record.open.is_empty() {
                settled.record(&record);
            } else {
                open.insert(record.index, record);
            }
        }
        let mut journal = Self::new(directory, earlier.clone(), records.place().clone())?;
        journal.cases.drop_incomplete()?;
        if let Some(end) = records.revisited_end() {
            journal
                .revisited
                .insert(JournalFile::open(out.join(REVISITED), end.clone())?)
                .drop_incomplete()?;
        }
        if earlier.end.take().is_some() {
            write_json(&info, &earlier)?;
        }
        Ok(Resumed { run: earlier, journal, summary, settled, open })
    }

    /// Appends the next case.
    pub fn append(&mut self, record: &CaseRecord) -> Result<(), StoreError> {
        self.cases.append(record)?;
        self.unwritten += 1;
        if self.unwritten >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Appends a case of the journal that was decided again.
    pub fn append_revisited(&mut self, record: &CaseRecord) -> Result<(), StoreError> {
        let revisited = match &mut self.revisited {
            Some(revisited) => revisited,
            absent => {
                let start = Position::start(&self.run, REVISITED);
                absent.insert(JournalFile::open(self.folder.join(REVISITED), start)?)
            }
        };
        revisited.append(record)?;
        self.flush()
    }

    /// Writes all records to disk and notes in the run how far they reach.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.flush()?;
        let path = self.folder.join(RUN);
        let run: RunInfo = read_json(&path)?;
        let revisited = self.revisited.as_ref().and_then(|revisited| revisited.end.end());
        write_json(&path, &RunInfo { journal: self.cases.end.end(), revisited, ..run })
    }

    /// Writes all records to disk.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let cases = mem::take(&mut self.unwritten);
        self.cases.flush()?;
        self.revisited.as_mut().map_or(Ok(()), JournalFile::flush)?;
        debug!(cases, micros = begun.elapsed().as_micros() as u64, "journal flushed");
        Ok(())
    }
}

impl JournalFile {
    /// Opens the file at `path`, which ends at `end`, for appending.
    fn open(path: PathBuf, end: Position) -> Result<Self, StoreError> {
        let file = File::options().append(true).create(true).open(&path);
        let file = file.map_err(StoreError::writing(&path))?;
        Ok(Self { path, file: BufWriter::new(file), end })
    }

    /// Drops what is behind the last complete line.
    fn drop_incomplete(&self) -> Result<(), StoreError> {
        let file = self.file.get_ref();
        let bytes = file.metadata().map_err(StoreError::file(&self.path))?.len();
        if bytes > self.end.bytes {
            let (lines, dropped) = (self.end.lines, bytes - self.end.bytes);
            warn!(file = self.path.display().to_string(), lines, dropped, "dropped an incomplete end");
            file.set_len(self.end.bytes).map_err(StoreError::writing(&self.path))?;
        }
        Ok(())
    }

    fn append(&mut self, record: &CaseRecord) -> Result<(), StoreError> {
        let line = self.end.append(record).map_err(StoreError::format(&self.path))?;
        self.file.write_all(&line).map_err(StoreError::writing(&self.path))
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.file.flush().map_err(StoreError::writing(&self.path))
    }
}

/// Whether a run with the options of `run` continues the cases of the run `earlier`.
fn continues(earlier: &RunInfo, run: &RunInfo) -> bool {
    earlier.format == run.format
        && earlier.twinfer == run.twinfer
        && earlier.seed == run.seed
        && earlier.families == run.families
        && earlier.shard == run.shard
        && earlier.ladder == run.ladder
        && earlier.variants == run.variants
}

#[cfg(test)]
mod tests;
