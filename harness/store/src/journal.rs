use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    mem,
    path::PathBuf,
    time::Instant,
};

use tracing::debug;
use twinfer_case::{CaseRecord, MAX_FILE_BYTES, RunInfo, Summary, read_file};

use crate::{
    Records, RunDirectory, StoreError,
    files::{read_json, write_json},
    names::{FINDINGS, JOURNAL, REVISITED, RUN},
};

/// Records between two writes to disk. A killed campaign loses at most this many, and runs them again when it is resumed.
const BATCH: u32 = 64;

/// The journal of a run directory: one line per case, in case order, append only. A second file, append only as well, holds
/// the cases that are decided again.
pub struct Journal {
    cases: Lines,
    /// `None` until a case is decided again.
    revisited: Option<Lines>,
    folder: PathBuf,
    unwritten: u32,
}

/// A file to which records are added, one line each.
struct Lines {
    path: PathBuf,
    file: BufWriter<File>,
}

/// A journal to which the rest of the run is appended.
pub struct Resumed {
    /// The journal, without an incomplete last record.
    pub journal: Journal,
    /// The summary of all cases.
    pub summary: Summary,
    /// The summary of the cases that are not open.
    pub settled: Summary,
    /// The cases with a divergence that was not triaged.
    pub open: OpenCases,
}

/// The cases of a journal with a divergence that was not triaged, which a resumed run decides again, by place in the campaign.
pub type OpenCases = BTreeMap<u64, CaseRecord>;

impl Journal {
    /// Begins `run` in a directory that was claimed for a new one.
    pub fn create(directory: &RunDirectory, run: &RunInfo) -> Result<Self, StoreError> {
        let out = directory.path();
        write_json(&out.join(RUN), run)?;
        let findings = out.join(FINDINGS);
        fs::create_dir_all(&findings).map_err(StoreError::writing(findings))?;
        Self::of(directory)
    }

    fn of(directory: &RunDirectory) -> Result<Self, StoreError> {
        let folder = directory.path().to_owned();
        let file = BufWriter::new(directory.journal()?);
        let cases = Lines { path: folder.join(JOURNAL), file };
        Ok(Self { cases, revisited: None, folder, unwritten: 0 })
    }

    /// Opens the journal of a run that ended early, in a directory that was claimed to resume it, and drops an incomplete last line.
    /// An error if `run` differs from that run in a way that changes its cases.
    pub fn resume(directory: &RunDirectory, run: &RunInfo) -> Result<Resumed, StoreError> {
        let out = directory.path();
        let info = out.join(RUN);
        let (mut summary, mut settled) = (Summary::new(&run.variants), Summary::new(&run.variants));
        let mut open = OpenCases::new();
        if !continues(&read_json(&info)?, run) {
            return Err(StoreError::OtherRun(info));
        }
        let journal = Self::of(directory)?;
        let mut records = Records::open(out)?;
        let (shard, shards) = run.shard;
        for (number, record) in (0..).zip(records.by_ref()) {
            let record = record?;
            summary.record(&record);
            let expected = shards.checked_mul(number).and_then(|place| place.checked_add(shard));
            match record.place().filter(|place| Some(*place) == expected && !record.open.is_empty()) {
                Some(place) => drop(open.insert(place, record)),
                None => settled.record(&record),
            }
        }
        journal.cases.truncate(records.bytes())?;
        Ok(Resumed { journal, summary, settled, open })
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
            absent => absent.insert(Lines::complete(self.folder.join(REVISITED))?),
        };
        revisited.append(record)?;
        self.flush()
    }

    /// Writes all records to disk.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let cases = mem::take(&mut self.unwritten);
        self.cases.flush()?;
        self.revisited.as_mut().map_or(Ok(()), Lines::flush)?;
        debug!(cases, micros = begun.elapsed().as_micros() as u64, "journal flushed");
        Ok(())
    }
}

impl Lines {
    /// Opens the file at `path` for appending, and drops an incomplete last line.
    fn complete(path: PathBuf) -> Result<Self, StoreError> {
        let file = File::options().read(true).append(true).create(true).open(&path);
        let file = file.map_err(StoreError::writing(&path))?;
        let lines = Self { path, file: BufWriter::new(file) };
        let text = read_file(&lines.path, MAX_FILE_BYTES).map_err(StoreError::file(&lines.path))?;
        lines.truncate(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end as u64 + 1))?;
        Ok(lines)
    }

    /// Truncates the file to `bytes`.
    fn truncate(&self, bytes: u64) -> Result<(), StoreError> {
        self.file.get_ref().set_len(bytes).map_err(StoreError::writing(&self.path))
    }

    fn append(&mut self, record: &CaseRecord) -> Result<(), StoreError> {
        let mut write = || -> io::Result<()> {
            serde_json::to_writer(&mut self.file, record)?;
            self.file.write_all(b"\n")
        };
        write().map_err(StoreError::writing(&self.path))
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
