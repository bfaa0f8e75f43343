//! The *records* of a run directory, read one at a time to report, merge or resume the run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufReader, ErrorKind, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    vec,
};

use twinfer_case::{CaseHash, CaseRecord, Continuation, Distribution, RunInfo, Shard, open_file};

use crate::{
    StoreError,
    lines::{LineHead, Lines, Position},
    names::{JOURNAL, REVISITED},
    seen_cases::SeenCases,
};

/// The cases of a run in the order of the campaign, each as it was last decided, whatever order its journal has. One case is held in
/// memory at a time, beside the place of every line.
///
/// Every line is verified before the first case is read: it follows the lines before it, its case belongs to the run, and no case
/// is there twice. What a killed campaign did not write completely is ignored, and cases of an unfinished finding, which a resumed
/// campaign decides again, are open until it has.
pub struct Records {
    places: vec::IntoIter<Place>,
    journal: RecordFile,
    /// The cases that were decided again; `None` if none were.
    revisited: Option<RecordFile>,
    seen: SeenCases,
    /// What was removed each time the campaign was resumed: cases that were decided before and name one of these findings are open.
    removed: Vec<Removed>,
}

/// A file of records, all of whose lines are verified.
struct RecordFile {
    path: PathBuf,
    file: BufReader<File>,
    /// The place that is read next.
    offset: u64,
    end: Position,
}

/// Where the record of a case is.
struct Place {
    /// The index of the case in the campaign.
    index: u64,
    is_revisited: bool,
    line: LinePlace,
}

/// A line of a file.
#[derive(Clone, Copy)]
struct LinePlace {
    /// The number of the line, from 1.
    number: u64,
    offset: u64,
    bytes: usize,
}

/// The findings that a campaign removed when it was resumed, since they were unfinished.
struct Removed {
    findings: BTreeSet<String>,
    /// The lines that the journal had by then.
    journal_lines: u64,
    /// The lines that the journal of the cases that were decided again had by then.
    revisited_lines: u64,
}

/// What holds for every case of a run.
struct Expected {
    format: u32,
    distribution: Distribution,
    seed: u64,
    /// Whether generators made the cases.
    is_generated: bool,
    shard: Shard,
}

impl Records {
    /// Opens the records of `run`, which is in `run_directory`, and verifies them.
    pub fn open(run_directory: &Path, run: &RunInfo) -> Result<Self, StoreError> {
        let expected = Expected::of(run);
        let (revisited, mut decided) = revisited(run_directory, run, &expected)?;
        let path = run_directory.join(JOURNAL);
        let file = open_file(&path).map_err(StoreError::file(&path))?;
        let start = Position::start(run, JOURNAL);
        let mut lines = Lines::new(path, BufReader::new(file), start, run.journal.clone());
        let (mut places, mut seen) = (Vec::new(), SeenCases::of(run.shard));
        while let Some((index, head, line)) = next_line(&mut lines, &expected)? {
            if !seen.insert(index) {
                let number = line.number;
                return Err(lines.invalid(format!("line {number}: case {index} is there twice")));
            }
            let again = decided.remove(&index).filter(|(case, _)| *case == head.case);
            let (is_revisited, line) = again.map_or((false, line), |(_, line)| (true, line));
            places.push(Place { index, is_revisited, line });
        }
        // a kill or a loss of power can leave a decision on disk whose case is not in the journal
        for (index, (_, line)) in decided {
            if seen.insert(index) {
                places.push(Place { index, is_revisited: true, line });
            }
        }
        places.sort_unstable_by_key(|place| place.index);
        let journal = RecordFile::of(lines)?;
        let removed = run.resumed.iter().map(Removed::by).collect();
        Ok(Self { places: places.into_iter(), journal, revisited, seen, removed })
    }

    /// Where the last line of the journal ends.
    pub(crate) const fn end(&self) -> &Position {
        &self.journal.end
    }

    /// Where the journal of the cases that were decided again ends; `None` if there is none.
    pub(crate) fn revisited_end(&self) -> Option<&Position> {
        self.revisited.as_ref().map(|revisited| &revisited.end)
    }

    /// The cases before the last one that are not there, by their index in the campaign, in order.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u64> {
        self.seen.missing()
    }

    fn read(&mut self, place: &Place) -> Result<CaseRecord, StoreError> {
        let file = self.revisited.as_mut().filter(|_| place.is_revisited).unwrap_or(&mut self.journal);
        let mut record = CaseRecord { index: place.index, ..file.read(place.line)? };
        let removed = self.removed.iter().filter(|removed| removed.is_after(place));
        removed.for_each(|removed| record.take_back(&removed.findings));
        Ok(record)
    }
}

impl Iterator for Records {
    type Item = Result<CaseRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = self.places.next()?;
        Some(self.read(&place))
    }
}

impl Removed {
    fn by(continuation: &Continuation) -> Self {
        let Continuation { unfinished, journal_lines, revisited_lines, .. } = continuation;
        Self {
            findings: unfinished.iter().cloned().collect(),
            journal_lines: *journal_lines,
            revisited_lines: *revisited_lines,
        }
    }

    /// Whether they were removed after the record there was written.
    const fn is_after(&self, place: &Place) -> bool {
        place.line.number <= if place.is_revisited { self.revisited_lines } else { self.journal_lines }
    }
}

impl RecordFile {
    /// The file of lines that were all read.
    fn of(lines: Lines<BufReader<File>>) -> Result<Self, StoreError> {
        let (path, mut file, end) = lines.into_parts();
        file.rewind().map_err(StoreError::file(&path))?;
        Ok(Self { path, file, offset: 0, end })
    }

    fn read(&mut self, LinePlace { number, offset, bytes }: LinePlace) -> Result<CaseRecord, StoreError> {
        let mut line = vec![0; bytes];
        let skipped = i64::try_from(offset).and_then(|to| Ok(to - i64::try_from(self.offset)?));
        let sought = match skipped {
            // what is buffered stays so
            Ok(skipped) => self.file.seek_relative(skipped),
            Err(_) => self.file.seek(SeekFrom::Start(offset)).map(drop),
        };
        let read = sought.and_then(|()| self.file.read_exact(&mut line));
        read.map_err(StoreError::file(&self.path))?;
        self.offset = offset.saturating_add(bytes as u64);
        serde_json::from_slice(&line).map_err(|error| StoreError::Format {
            path: self.path.clone(),
            reason: format!("line {number}: {error}"),
        })
    }
}

impl Expected {
    fn of(run: &RunInfo) -> Self {
        let is_generated = !run.families.is_empty();
        Self {
            format: run.format,
            distribution: run.distribution,
            seed: run.seed,
            is_generated,
            shard: run.shard,
        }
    }

    /// The index of the case on a line. Earlier formats do not state it: there the cases stand in order.
    fn index(&self, head: &LineHead, line: u64) -> u64 {
        match &head.provenance {
            _ if self.format >= FIRST_WITH_INDEX => head.index,
            Some(provenance) if self.is_generated => provenance.index,
            _ => self.shard.case_at(line.saturating_sub(1)),
        }
    }

    /// Checks that the case at `index` belongs to the run.
    fn check(&self, index: u64, head: &LineHead) -> Result<(), String> {
        if !self.shard.holds(index) {
            return Err(format!("case {index} does not belong to shard {}", self.shard));
        }
        match head.provenance.as_ref().filter(|_| self.is_generated) {
            Some(from) if from.distribution != self.distribution => Err(format!(
                "case {index} is of distribution {}, and the run of {}",
                from.distribution, self.distribution
            )),
            Some(from) if from.seed != self.seed => {
                Err(format!("case {index} has seed {}, and the run has {}", from.seed, self.seed))
            }
            Some(from) if from.index != index => {
                Err(format!("case {index} was generated as case {}", from.index))
            }
            _ => Ok(()),
        }
    }
}

/// The first format whose records state the index of their case.
const FIRST_WITH_INDEX: u32 = 4;

/// The next line, which belongs to the run, with the index of its case and its place; `None` at the end.
fn next_line(
    lines: &mut Lines<BufReader<File>>,
    expected: &Expected,
) -> Result<Option<(u64, LineHead, LinePlace)>, StoreError> {
    let offset = lines.place().bytes;
    let Some(head) = lines.next().transpose()? else { return Ok(None) };
    let Position { lines: number, bytes: end, .. } = *lines.place();
    let index = expected.index(&head, number);
    let invalid = |reason: String| lines.invalid(format!("line {number}: {reason}"));
    expected.check(index, &head).map_err(invalid)?;
    Ok(Some((index, head, LinePlace { number, offset, bytes: (end - offset) as usize })))
}

/// The last record of each case that was decided again, by the case's index.
type Decided = BTreeMap<u64, (CaseHash, LinePlace)>;

/// The records of cases that were decided again, if there are any, and the place of the last one of each case.
fn revisited(
    run_directory: &Path,
    run: &RunInfo,
    expected: &Expected,
) -> Result<(Option<RecordFile>, Decided), StoreError> {
    let path = run_directory.join(REVISITED);
    let file = match open_file(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && run.revisited.is_none() => {
            return Ok((None, Decided::new()));
        }
        Err(source) => return Err(StoreError::File { path, source }),
    };
    let start = Position::start(run, REVISITED);
    let mut lines = Lines::new(path, BufReader::new(file), start, run.revisited.clone());
    let mut decided = Decided::new();
    while let Some((index, head, line)) = next_line(&mut lines, expected)? {
        decided.insert(index, (head.case, line));
    }
    Ok((Some(RecordFile::of(lines)?), decided))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A run of format 3, whose lines have no checksums.
    fn run() -> RunInfo {
        let run = serde_json::json!({
            "format": 3, "twinfer": "1", "seed": 1, "families": ["conv"], "budget": {"cases": 9},
            "shard": [0, 1], "jobs": 1, "variants": [], "machine": {"os": "", "arch": "", "cores": 1}, "started": 0,
        });
        serde_json::from_value(run).unwrap()
    }

    fn line(index: u64, macs: u64) -> String {
        let case = format!("{index:02x}").repeat(32);
        let record = serde_json::json!({
            "format": 3, "case": case, "variants": [], "findings": [], "macs": macs,
            "provenance": {"family": "conv", "seed": 1, "index": index},
        });
        format!("{record}\n")
    }

    fn try_read(journal: &str, revisited: &str) -> Result<Vec<(u64, u64)>, StoreError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(JOURNAL), journal).unwrap();
        fs::write(folder.path().join(REVISITED), revisited).unwrap();
        let records = Records::open(folder.path(), &run())?;
        records.map(|record| record.map(|record| (record.index, record.macs))).collect()
    }

    fn read(journal: &str, revisited: &str) -> Vec<(u64, u64)> {
        try_read(journal, revisited).unwrap()
    }

    #[test]
    fn cases_are_read_as_they_were_last_decided() {
        let journal = [line(0, 1), line(2, 1), line(4, 1), line(6, 1)].concat();
        let revisited = [line(2, 2), line(6, 2), line(2, 3), line(8, 2)].concat();
        let cases = [(0, 1), (2, 3), (4, 1), (6, 2), (8, 2)];
        assert_eq!(read(&journal, &revisited), cases);
        // an incomplete line is ignored
        assert_eq!(read(&journal, &revisited[..revisited.len() - line(8, 2).len() - 9])[1], (2, 2));
        assert_eq!(read(&journal[..journal.len() - 1], ""), [(0, 1), (2, 1), (4, 1)]);
    }

    #[test]
    fn decisions_about_another_case_are_ignored() {
        let other = line(7, 2).replace("\"index\":7", "\"index\":2");
        assert_eq!(read(&line(2, 1), &other), [(2, 1)]);
    }

    #[test]
    fn missing_journals_and_invalid_lines_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let absent = Records::open(folder.path(), &run()).err().unwrap().to_string();
        assert!(absent.contains(JOURNAL), "{absent}");
        fs::write(folder.path().join(JOURNAL), line(0, 1) + "{}\n").unwrap();
        let invalid = Records::open(folder.path(), &run()).err().unwrap().to_string();
        assert!(invalid.contains("line 2"), "{invalid}");
    }

    #[test]
    fn cases_that_do_not_belong_to_the_run_are_reported() {
        let refused = |journal: &str| try_read(journal, "").unwrap_err().to_string();
        let twice = refused(&[line(0, 1), line(1, 1), line(0, 1)].concat());
        assert!(twice.contains("line 3: case 0 is there twice"), "{twice}");
        let other = refused(&line(0, 1).replace("\"seed\":1", "\"distribution\":\"full\",\"seed\":1"));
        assert!(other.contains("line 1: case 0 is of distribution full, and the run of baseline"), "{other}");
        let foreign = refused(&line(0, 1).replace("\"seed\":1", "\"seed\":2"));
        assert!(foreign.contains("line 1: case 0 has seed 2, and the run has 1"), "{foreign}");
    }
}
