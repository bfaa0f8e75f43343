mod earlier_cases;

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

use tracing::{debug, warn};
use twinfer_case::{Budget, CaseRecord, Continuation, ReducedCase, RunInfo, Summary};

use self::earlier_cases::EarlierCases;
pub use self::earlier_cases::{OpenCases, StoredFinding};
use crate::{
    Disk, Records, RunDirectory, StoreError,
    differences::between_continued,
    disk::sync_parent,
    files::write_json_durably,
    lines::{MAX_UNSYNCED, Position},
    names::{FINDINGS, JOURNAL, REVISITED, RUN},
    read_run,
};

/// The most cases before the last recorded one that a resumed run makes up for. A campaign that is killed leaves fewer.
const MAX_MISSING: usize = 1 << 18;

/// Records between two writes to the file. A killed campaign loses at most this many, and runs them again when it is resumed.
const BATCH: u64 = 64;

/// The journal of a run directory: one line per case, append only. A second file, append only as well, holds the cases that are
/// decided again.
pub struct Journal {
    cases: JournalFile,
    /// `None` until a case is decided again.
    revisited: Option<JournalFile>,
    run: RunInfo,
    folder: PathBuf,
    disk: Arc<dyn Disk>,
}

/// A file to which records are added, one line each.
struct JournalFile {
    path: PathBuf,
    file: BufWriter<File>,
    end: Position,
    /// Lines that are written, and lines that are on disk.
    written: u64,
    synced: u64,
}

/// A journal to which the rest of the run is appended.
pub struct Resumed {
    /// The run as it was begun, with the budget of its continuation.
    pub run: RunInfo,
    /// The journal, without an incomplete last record.
    pub journal: Journal,
    /// The summary of all cases.
    pub summary: Summary,
    /// The findings that the journal names, and those that were removed when the run was resumed: what is on disk of them is the run's own.
    pub named: BTreeSet<String>,
    /// The summary of the cases that are not open.
    pub settled: Summary,
    /// What the cases that are not open were reduced to, each once.
    pub reduced: BTreeSet<ReducedCase>,
    /// The cases to decide again.
    pub open: OpenCases,
    /// The cases before the last one that are not recorded, by their index in the campaign, in order.
    pub missing: Vec<u64>,
}

impl Journal {
    /// Begins `run` in a directory that was claimed for a new one. The run is on disk when this returns.
    pub fn create(directory: &RunDirectory, run: &RunInfo) -> Result<Self, StoreError> {
        let journal = Self::without_run(directory, run)?;
        journal.write_run(run)?;
        Ok(journal)
    }

    /// Begins the journal of `run`, which is one only after [`finish`](Self::finish).
    pub(crate) fn without_run(directory: &RunDirectory, run: &RunInfo) -> Result<Self, StoreError> {
        let out = directory.path();
        let findings = out.join(FINDINGS);
        fs::create_dir_all(&findings).map_err(StoreError::writing(findings))?;
        let (journal, disk) =
            (Self::new(directory, run.clone(), Position::start(run, JOURNAL))?, directory.disk());
        // a run that is there has a journal and a folder for findings
        disk.sync_folder(out).map_err(StoreError::writing(out))?;
        sync_parent(&*disk, out)?;
        Ok(journal)
    }

    fn new(directory: &RunDirectory, run: RunInfo, end: Position) -> Result<Self, StoreError> {
        let folder = directory.path().to_owned();
        let cases = JournalFile::new(folder.join(JOURNAL), directory.journal()?, end);
        Ok(Self { cases, revisited: None, run, folder, disk: directory.disk() })
    }

    fn write_run(&self, run: &RunInfo) -> Result<(), StoreError> {
        write_json_durably(&*self.disk, &self.folder.join(RUN), run)
    }

    /// Opens the journal of a run that ended early, in a directory that was claimed to resume it, and drops what was not written
    /// completely. The first case that shows a finding which is [lost](StoredFinding::Lost) is open, so that it leads to the finding
    /// again; so is every case that shows one which is [unfinished](StoredFinding::Unfinished). So is, with a budget of cases, every case
    /// that shows a finding and comes after one that is to be decided: it was decided with that.
    ///
    /// # Errors
    ///
    /// If `run` differs from that run in a setting that changes cases, verdicts or findings, or if the journal is not as it was written.
    pub fn resume(
        directory: &RunDirectory,
        run: &RunInfo,
        stored: &dyn Fn(&str) -> StoredFinding,
    ) -> Result<Resumed, StoreError> {
        let out = directory.path();
        let earlier = read_run(out)?;
        if !earlier.merged.is_empty() {
            return Err(StoreError::Merged(out.to_owned()));
        }
        if let Some(differences) = between_continued(&earlier, run) {
            return Err(StoreError::OtherRun { path: out.to_owned(), differences });
        }
        let mut records = Records::open(out, &earlier)?;
        let missing: Vec<_> = records.missing().take(MAX_MISSING + 1).collect();
        if missing.len() > MAX_MISSING {
            return Err(StoreError::Gap(out.to_owned()));
        }
        let mut cases = EarlierCases::none(run, stored);
        if matches!(earlier.budget, Budget::Cases(_)) {
            cases = cases.in_order(missing.first().copied());
        }
        for record in records.by_ref() {
            cases.add(record?);
        }
        let unfinished = cases.unfinished();
        let EarlierCases { summary, mut named, settled, reduced, open, .. } = cases;
        if let Budget::Cases(budget) = run.budget
            && budget < summary.cases
        {
            return Err(StoreError::FewerCases { path: out.to_owned(), budget, recorded: summary.cases });
        }
        let mut resumed = earlier.resumed.clone();
        let (started, budget) = (run.started, run.budget);
        resumed.push(Continuation {
            started,
            cases: summary.cases,
            budget,
            unfinished,
            journal_lines: records.end().lines,
            revisited_lines: records.revisited_end().map_or(0, |end| end.lines),
        });
        // what a campaign took that was killed is not known
        let totals = earlier.totals.filter(|_| earlier.end.is_some());
        let run = RunInfo { budget: run.budget, resumed, processor: None, totals, end: None, ..earlier };
        let mut journal = Self::new(directory, run.clone(), records.end().clone())?;
        journal.cases.drop_incomplete()?;
        if let Some(end) = records.revisited_end() {
            let revisited = JournalFile::open(out.join(REVISITED), end.clone())?;
            journal.revisited.insert(revisited).drop_incomplete()?;
        }
        journal.sync_all()?;
        journal.write_run(&run)?;
        named.extend(run.resumed.iter().flat_map(|again| again.unfinished.iter().cloned()));
        Ok(Resumed { run, journal, summary, named, settled, reduced, open, missing })
    }

    /// Appends the next case. It is on disk after [`commit`](Self::commit).
    pub fn append(&mut self, record: &CaseRecord) -> Result<(), StoreError> {
        self.cases.append(record)?;
        self.bound_unsynced()
    }

    /// Appends a case of the journal that was decided again. It is on disk after [`commit`](Self::commit).
    pub fn append_revisited(&mut self, record: &CaseRecord) -> Result<(), StoreError> {
        let revisited = match &mut self.revisited {
            Some(revisited) => revisited,
            absent => {
                let start = Position::start(&self.run, REVISITED);
                let revisited = absent.insert(JournalFile::open(self.folder.join(REVISITED), start)?);
                self.disk.sync_folder(&self.folder).map_err(StoreError::writing(&self.folder))?;
                revisited
            }
        };
        // what was decided earlier survives with it
        self.cases.flush()?;
        revisited.append(record)?;
        revisited.flush()?;
        self.bound_unsynced()
    }

    /// No more lines than a reader expects may be damaged by a loss of power.
    fn bound_unsynced(&mut self) -> Result<(), StoreError> {
        if self.files().any(|file| file.end.lines - file.synced >= MAX_UNSYNCED) {
            self.commit()
        } else {
            Ok(())
        }
    }

    fn files(&mut self) -> impl Iterator<Item = &mut JournalFile> {
        [&mut self.cases].into_iter().chain(&mut self.revisited)
    }

    /// Writes all records to the files, where they survive the end of this process.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.files().try_for_each(JournalFile::flush)
    }

    /// Waits until all records are on disk, where they survive a loss of power.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        let (begun, disk) = (Instant::now(), Arc::clone(&self.disk));
        let mut lines = 0;
        for file in self.files() {
            lines += file.commit(&*disk)?;
        }
        if lines > 0 {
            debug!(lines, micros = begun.elapsed().as_micros() as u64, "journal synced");
        }
        Ok(())
    }

    /// Syncs also what an earlier process wrote.
    fn sync_all(&mut self) -> Result<(), StoreError> {
        let disk = Arc::clone(&self.disk);
        self.files().try_for_each(|file| file.sync(&*disk))
    }

    /// Waits until all records are on disk, and notes in the run how far they reach.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.commit()?;
        let revisited = self.revisited.as_ref().and_then(|revisited| revisited.end.end());
        self.write_run(&RunInfo { journal: self.cases.end.end(), revisited, ..self.run.clone() })
    }
}

impl JournalFile {
    /// Opens the file at `path`, which ends at `end`, for appending.
    fn open(path: PathBuf, end: Position) -> Result<Self, StoreError> {
        let file = File::options().append(true).create(true).open(&path);
        let file = file.map_err(StoreError::writing(&path))?;
        Ok(Self::new(path, file, end))
    }

    fn new(path: PathBuf, file: File, end: Position) -> Self {
        let lines = end.lines;
        Self { path, file: BufWriter::new(file), end, written: lines, synced: lines }
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
        self.file.write_all(&line).map_err(StoreError::writing(&self.path))?;
        if self.end.lines - self.written >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.file.flush().map_err(StoreError::writing(&self.path))?;
        self.written = self.end.lines;
        Ok(())
    }

    /// Syncs what was appended since the last time; the number of lines.
    fn commit(&mut self, disk: &dyn Disk) -> Result<u64, StoreError> {
        let lines = self.end.lines - self.synced;
        if lines > 0 {
            self.flush()?;
            self.sync(disk)?;
        }
        Ok(lines)
    }

    /// Syncs what was written. Fails if the file is no longer there, so that what is written to it is lost.
    fn sync(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        if matches!(self.path.try_exists(), Ok(false)) {
            let removed = io::Error::new(io::ErrorKind::NotFound, "it was removed while it was written");
            return Err(StoreError::writing(&self.path)(removed));
        }
        disk.sync_file(self.file.get_ref(), &self.path).map_err(StoreError::writing(&self.path))?;
        self.synced = self.written;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
