use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, BufWriter, ErrorKind, Write},
    mem,
    path::{Path, PathBuf},
    time::Instant,
};

use tracing::debug;
use twinfer_case::{CaseRecord, MAX_FILE_BYTES, RunInfo, Summary, read_file};

use crate::{
    Records, StoreError,
    files::{read_json, remove_unfinished, write_json},
    names::{JOURNAL, REVISITED, RUN},
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
    /// Creates the run directory `out` with an empty journal; an error if another campaign writes to it.
    pub fn create(out: &Path, run: &RunInfo) -> Result<Self, StoreError> {
        fs::create_dir_all(out).map_err(StoreError::writing(out))?;
        remove_unfinished(out)?;
        write_json(&out.join(RUN), run)?;
        let cases = Lines::lock(out.join(JOURNAL))?;
        cases.truncate(0)?;
        let revisited = out.join(REVISITED);
        match fs::remove_file(&revisited) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::writing(revisited)(error)),
            _ => Ok(Self::of(out, cases)),
        }
    }

    fn of(out: &Path, cases: Lines) -> Self {
        Self { cases, revisited: None, folder: out.to_owned(), unwritten: 0 }
    }

    /// Opens the journal of a run that ended early, and drops an incomplete last line. An error if `run` differs from that run
    /// in a way that changes its cases.
    pub fn resume(out: &Path, run: &RunInfo) -> Result<Resumed, StoreError> {
        let info = out.join(RUN);
        let (mut summary, mut settled) = (Summary::new(&run.variants), Summary::new(&run.variants));
        let mut open = OpenCases::new();
        // a campaign may be killed before it writes anything
        if is_blank(out) {
            return Ok(Resumed { journal: Self::create(out, run)?, summary, settled, open });
        }
        if !continues(&read_json(&info)?, run) {
            return Err(StoreError::OtherRun(info));
        }
        let cases = Lines::lock(out.join(JOURNAL))?;
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
        cases.truncate(records.bytes())?;
        Ok(Resumed { journal: Self::of(out, cases), summary, settled, open })
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
            absent => absent.insert(Lines::lock_complete(self.folder.join(REVISITED))?),
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
    /// Opens the file at `path` for appending, and locks it.
    fn lock(path: PathBuf) -> Result<Self, StoreError> {
        Ok(Self { file: BufWriter::new(open_locked(&path)?), path })
    }

    /// Opens and locks the file at `path`, and drops an incomplete last line.
    fn lock_complete(path: PathBuf) -> Result<Self, StoreError> {
        let lines = Self::lock(path)?;
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

/// Opens the file at `path` for appending, creates it if it is missing, and locks it against other writers while it is open.
fn open_locked(path: &Path) -> Result<File, StoreError> {
    let file = File::options().read(true).append(true).create(true).open(path);
    let file = file.map_err(StoreError::writing(path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(path.to_owned())),
        // the file system has no locks
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Whether the folder exists and holds no run.
fn is_blank(out: &Path) -> bool {
    out.is_dir() && !out.join(RUN).exists() && !out.join(JOURNAL).exists()
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
