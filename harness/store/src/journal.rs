use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
};

use twinfer_case::{CaseRecord, MAX_FILE_BYTES, RunInfo, Summary, read_file};

use crate::{
    Records, StoreError,
    files::{read_json, remove_unfinished, write_json},
    names::{JOURNAL, REVISITED, RUN},
};

/// Records between two writes to disk: a killed campaign loses at most these, and finds them again when it resumes.
const BATCH: u32 = 64;

/// The journal of a run directory: one line a case, in case order, append only; and beside it, append only too, the cases
/// that are decided once more.
pub struct Journal {
    cases: Lines,
    /// There from the first case that is decided once more.
    revisited: Option<Lines>,
    folder: PathBuf,
    unwritten: u32,
}

/// A file to which records are added, one line each.
struct Lines {
    path: PathBuf,
    file: BufWriter<File>,
}

/// A journal to go on with.
pub struct Resumed {
    /// It goes on after its last whole record.
    pub journal: Journal,
    /// What all of its cases come to.
    pub summary: Summary,
    /// What those come to that are not open.
    pub settled: Summary,
    /// Those that nobody had the time to investigate, by place.
    pub open: OpenCases,
}

/// Cases of a journal that are left to be looked at again, by place.
pub type OpenCases = BTreeMap<u64, CaseRecord>;

impl Journal {
    /// Makes the run directory with its `run.json` and an empty journal.
    pub fn create(out: &Path, run: &RunInfo) -> Result<Self, StoreError> {
        fs::create_dir_all(out).map_err(StoreError::writing(out))?;
        remove_unfinished(out)?;
        write_json(&out.join(RUN), run)?;
        let cases = Lines::claim(out.join(JOURNAL))?;
        cases.cut(0)?;
        let revisited = out.join(REVISITED);
        match fs::remove_file(&revisited) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::writing(revisited)(error)),
            _ => Ok(Self::of(out, cases)),
        }
    }

    fn of(out: &Path, cases: Lines) -> Self {
        Self { cases, revisited: None, folder: out.to_owned(), unwritten: 0 }
    }

    /// Opens the journal of a run that ended early, without a last line that was cut short.
    pub fn resume(out: &Path, run: &RunInfo) -> Result<Resumed, StoreError> {
        let info = out.join(RUN);
        let (mut summary, mut settled) = (Summary::new(&run.variants), Summary::new(&run.variants));
        let mut open = OpenCases::new();
        // a campaign may be killed before it has written anything
        if is_blank(out) {
            return Ok(Resumed { journal: Self::create(out, run)?, summary, settled, open });
        }
        if !continues(&read_json(&info)?, run) {
            return Err(StoreError::OtherRun(info));
        }
        let cases = Lines::claim(out.join(JOURNAL))?;
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
        cases.cut(records.whole())?;
        Ok(Resumed { journal: Self::of(out, cases), summary, settled, open })
    }

    /// Adds the next case.
    pub fn append(&mut self, record: &CaseRecord) -> Result<(), StoreError> {
        self.cases.append(record)?;
        self.unwritten += 1;
        if self.unwritten >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Adds what a case of the journal turned out to be when it was looked at again.
    pub fn append_revisited(&mut self, record: &CaseRecord) -> Result<(), StoreError> {
        let revisited = match &mut self.revisited {
            Some(revisited) => revisited,
            absent => absent.insert(Lines::claim_whole(self.folder.join(REVISITED))?),
        };
        revisited.append(record)?;
        self.flush()
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.unwritten = 0;
        self.cases.flush()?;
        self.revisited.as_mut().map_or(Ok(()), Lines::flush)
    }
}

impl Lines {
    /// Those of a file, which may not be there yet.
    fn claim(path: PathBuf) -> Result<Self, StoreError> {
        Ok(Self { file: BufWriter::new(claim(&path)?), path })
    }

    /// The same, without a last line that was cut short.
    fn claim_whole(path: PathBuf) -> Result<Self, StoreError> {
        let lines = Self::claim(path)?;
        let text = read_file(&lines.path, MAX_FILE_BYTES).map_err(StoreError::file(&lines.path))?;
        lines.cut(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end as u64 + 1))?;
        Ok(lines)
    }

    /// Leaves the first `bytes` of the file.
    fn cut(&self, bytes: u64) -> Result<(), StoreError> {
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

/// Opens a journal, which may not be there yet, and keeps others from writing it for as long as it is open.
fn claim(path: &Path) -> Result<File, StoreError> {
    let file = File::options().read(true).append(true).create(true).open(path);
    let file = file.map_err(StoreError::writing(path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(path.to_owned())),
        // a file system without locks
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Whether no run left anything in this folder, which is there.
fn is_blank(out: &Path) -> bool {
    out.is_dir() && !out.join(RUN).exists() && !out.join(JOURNAL).exists()
}

/// Whether a run with these options gives the rest of the cases that the earlier one began with.
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
mod tests {
    use twinfer_case::Provenance;

    use super::*;

    fn run() -> RunInfo {
        let run = serde_json::json!({
            "format": twinfer_case::JOURNAL_FORMAT, "twinfer": "1", "seed": 1, "families": [], "budget": {"cases": 1},
            "shard": [0, 1], "jobs": 1, "variants": [], "machine": {"os": "", "arch": "", "cores": 1}, "started": 0,
        });
        serde_json::from_value(run).unwrap()
    }

    fn record(place: u8) -> CaseRecord {
        let case = format!("{place:02x}").repeat(32);
        let findings = vec![format!("a-finding-{place}"); usize::from(place % 3)];
        let record = serde_json::json!({
            "format": twinfer_case::JOURNAL_FORMAT, "case": case, "provenance": null, "variants": [],
            "findings": findings, "macs": place,
        });
        serde_json::from_value(record).unwrap()
    }

    fn append_all(journal: &mut Journal, records: &[CaseRecord]) {
        for record in records {
            journal.append(record).unwrap();
        }
        journal.flush().unwrap();
    }

    #[test]
    fn a_run_that_was_killed_before_it_had_a_journal_begins_with_an_empty_one() {
        let out = tempfile::tempdir().unwrap();
        for is_there in [false, true] {
            if is_there {
                write_json(&out.path().join("run.json"), &run()).unwrap();
                fs::remove_file(out.path().join("journal.jsonl")).unwrap();
            }
            assert_eq!(Journal::resume(out.path(), &run()).unwrap().summary.cases, 0);
        }
        assert!(Journal::resume(&out.path().join("misspelt"), &run()).is_err());
    }

    #[test]
    fn a_journal_cut_off_at_any_byte_goes_on_after_its_last_whole_record() {
        let out = tempfile::tempdir().unwrap();
        let path = out.path().join("journal.jsonl");
        let records: Vec<_> = (0..9).map(record).collect();
        let mut journal = Journal::create(out.path(), &run()).unwrap();
        append_all(&mut journal, &records);
        drop(journal);
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let Resumed { mut journal, summary, .. } = Journal::resume(out.path(), &run()).unwrap();
            let kept = summary.cases as usize;
            assert_eq!(kept, whole[..cut].split(|byte| *byte == b'\n').count() - 1);
            assert_eq!(
                fs::read(&path).unwrap(),
                whole[..cut.min(fs::metadata(&path).unwrap().len() as usize)]
            );
            append_all(&mut journal, &records[kept..]);
            assert!(fs::read(&path).unwrap() == whole, "cut off after {cut} bytes");
        }
    }

    #[test]
    fn a_case_that_was_left_open_is_there_until_it_is_decided() {
        let out = tempfile::tempdir().unwrap();
        let records = [(0, false), (1, true), (2, true), (7, true)].map(|(place, is_open)| CaseRecord {
            provenance: Some(Provenance { family: "conv".to_owned(), seed: 1, index: place }),
            open: is_open.then(|| "ort:cpu".parse().unwrap()).into_iter().collect(),
            ..record(place as u8)
        });
        append_all(&mut Journal::create(out.path(), &run()).unwrap(), &records);
        let open = |resumed: &Resumed| resumed.open.keys().copied().collect::<Vec<_>>();
        let resumed = Journal::resume(out.path(), &run()).unwrap();
        assert_eq!(open(&resumed), [1, 2], "the last is not where the campaign has it");
        assert_eq!((resumed.summary.cases, resumed.settled.cases), (4, 2));
        let mut journal = resumed.journal;
        for place in [1, 2] {
            let decided = CaseRecord { open: Vec::new(), ..records[place].clone() };
            journal.append_revisited(&decided).unwrap();
        }
        drop(journal);
        assert!(open(&Journal::resume(out.path(), &run()).unwrap()).is_empty());
        // killed while it wrote the second
        let revisited = out.path().join(REVISITED);
        let text = fs::read(&revisited).unwrap();
        fs::write(&revisited, &text[..text.len() - 5]).unwrap();
        let mut resumed = Journal::resume(out.path(), &run()).unwrap();
        assert_eq!(open(&resumed), [2]);
        let decided = CaseRecord { open: Vec::new(), ..records[2].clone() };
        resumed.journal.append_revisited(&decided).unwrap();
        assert_eq!(fs::read(&revisited).unwrap(), text);
        drop(resumed);
        Journal::create(out.path(), &run()).unwrap();
        assert!(!revisited.exists(), "another run has begun");
    }

    #[test]
    fn a_journal_that_is_being_written_is_left_to_its_writer() {
        let out = tempfile::tempdir().unwrap();
        let journal = Journal::create(out.path(), &run()).unwrap();
        let refused = Journal::resume(out.path(), &run()).err();
        assert!(matches!(refused, Some(StoreError::Busy(_))));
        drop(journal);
        assert!(Journal::resume(out.path(), &run()).is_ok());
    }

    #[test]
    fn a_run_whose_description_is_cut_off_is_refused_and_its_journal_left_alone() {
        let out = tempfile::tempdir().unwrap();
        Journal::create(out.path(), &run()).unwrap().append(&record(1)).unwrap();
        let (info, path) = (out.path().join("run.json"), out.path().join("journal.jsonl"));
        let (whole, journal) = (fs::read(&info).unwrap(), fs::read(&path).unwrap());
        for cut in 0..whole.len() - 1 {
            fs::write(&info, &whole[..cut]).unwrap();
            let refused = Journal::resume(out.path(), &run()).err();
            assert!(matches!(refused, Some(StoreError::Format { .. })), "cut off after {cut} bytes");
        }
        assert_eq!(fs::read(&path).unwrap(), journal);
    }
}
