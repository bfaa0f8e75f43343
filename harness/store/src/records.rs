//! The *records* of a run directory, read one at a time to report, merge or resume the run.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, ErrorKind},
    path::Path,
};

use twinfer_case::{CaseRecord, MAX_FILE_BYTES, RunInfo, open_file, read_file};

use crate::{
    StoreError,
    lines::{Lines, Position},
    names::{JOURNAL, REVISITED},
    seen_cases::SeenCases,
};

/// The cases of a run in the order of its journal, each as it was last decided. One case is held in memory at a time, beside the
/// cases that were decided again.
///
/// Every line is verified: it follows the lines before it, its case belongs to the run, and no case is there twice. What a
/// killed campaign did not write completely is ignored.
pub struct Records {
    journal: Lines<BufReader<File>>,
    run: Expected,
    seen: SeenCases,
    /// The cases that were decided again, by their index in the campaign.
    revisited: BTreeMap<u64, CaseRecord>,
    /// The end of the journal of those cases; `None` if there is none.
    revisited_end: Option<Position>,
}

/// What holds for every case of a run.
#[derive(Clone)]
struct Expected {
    format: u32,
    seed: u64,
    /// Whether generators made the cases.
    is_generated: bool,
    shard: (u64, u64),
}

impl Records {
    /// Opens the records of `run`, which is in `run_directory`.
    pub fn open(run_directory: &Path, run: &RunInfo) -> Result<Self, StoreError> {
        let expected = Expected::of(run);
        let (revisited, revisited_end) = revisited(run_directory, run, &expected)?;
        let path = run_directory.join(JOURNAL);
        let file = open_file(&path).map_err(StoreError::file(&path))?;
        let start = Position::start(run, JOURNAL);
        let journal = Lines::new(path, BufReader::new(file), start, run.journal.clone());
        Ok(Self { journal, run: expected, seen: SeenCases::of_shard(run.shard), revisited, revisited_end })
    }

    /// Where the last line of the journal that was read ends.
    pub(crate) const fn place(&self) -> &Position {
        self.journal.place()
    }

    /// Where the journal of the cases that were decided again ends; `None` if there is none.
    pub(crate) const fn revisited_end(&self) -> Option<&Position> {
        self.revisited_end.as_ref()
    }

    /// Whether a case before the last one was not read.
    pub(crate) fn has_gap(&self) -> bool {
        self.seen.has_gap()
    }

    /// Checks a record and returns it as it was last decided.
    fn decided(&mut self, mut record: CaseRecord) -> Result<CaseRecord, StoreError> {
        let line = self.place().lines;
        record.index = self.run.index(&record, line);
        let invalid = |reason: String| self.journal.invalid(format!("line {line}: {reason}"));
        self.run.check(&record).map_err(invalid)?;
        if !self.seen.insert(record.index) {
            return Err(self.journal.invalid(format!("line {line}: case {} is there twice", record.index)));
        }
        let revisited = self.revisited.remove(&record.index);
        Ok(revisited.filter(|revisited| revisited.case == record.case).unwrap_or(record))
    }
}

impl Iterator for Records {
    type Item = Result<CaseRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.journal.next()?;
        Some(record.and_then(|record| self.decided(record)))
    }
}

impl Expected {
    fn of(run: &RunInfo) -> Self {
        let is_generated = !run.families.is_empty();
        Self { format: run.format, seed: run.seed, is_generated, shard: run.shard }
    }

    /// The index of the case on a line. Earlier formats do not state it: there the cases stand in order.
    fn index(&self, record: &CaseRecord, line: u64) -> u64 {
        let (shard, shards) = self.shard;
        match &record.provenance {
            _ if self.format >= FIRST_WITH_INDEX => record.index,
            Some(provenance) if self.is_generated => provenance.index,
            _ => shards.saturating_mul(line.saturating_sub(1)).saturating_add(shard),
        }
    }

    /// Checks that the case belongs to the run.
    fn check(&self, record: &CaseRecord) -> Result<(), String> {
        let (shard, shards) = self.shard;
        let index = record.index;
        if index.checked_rem(shards) != Some(shard) {
            return Err(format!("case {index} does not belong to shard {shard}/{shards}"));
        }
        match record.provenance.as_ref().filter(|_| self.is_generated) {
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

/// The last record of each case that was decided again, by index, and where they end.
fn revisited(
    run_directory: &Path,
    run: &RunInfo,
    expected: &Expected,
) -> Result<(BTreeMap<u64, CaseRecord>, Option<Position>), StoreError> {
    let path = run_directory.join(REVISITED);
    let (bytes, is_there) = match read_file(&path, MAX_FILE_BYTES) {
        Ok(bytes) => (bytes, true),
        Err(error) if error.kind() == ErrorKind::NotFound => (Vec::new(), false),
        Err(source) => return Err(StoreError::File { path, source }),
    };
    let start = Position::start(run, REVISITED);
    let mut lines = Lines::new(path, bytes.as_slice(), start, run.revisited.clone());
    let mut records = BTreeMap::new();
    while let Some(record) = lines.next() {
        let mut record = record?;
        let line = lines.place().lines;
        record.index = expected.index(&record, line);
        expected.check(&record).map_err(|reason| lines.invalid(format!("line {line}: {reason}")))?;
        records.insert(record.index, record);
    }
    Ok((records, is_there.then(|| lines.place().clone())))
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
        let cases = [(0, 1), (2, 3), (4, 1), (6, 2)];
        assert_eq!(read(&journal, &revisited), cases);
        // an incomplete line is ignored
        assert_eq!(read(&journal, &revisited[..revisited.len() - line(8, 2).len() - 9])[1], (2, 2));
        assert_eq!(read(&journal[..journal.len() - 1], &revisited), cases[..3]);
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
        let invalid = Records::open(folder.path(), &run()).unwrap().nth(1).unwrap().unwrap_err().to_string();
        assert!(invalid.contains("line 2"), "{invalid}");
    }

    #[test]
    fn cases_that_do_not_belong_to_the_run_are_reported() {
        let refused = |journal: &str| try_read(journal, "").unwrap_err().to_string();
        let twice = refused(&[line(0, 1), line(1, 1), line(0, 1)].concat());
        assert!(twice.contains("line 3: case 0 is there twice"), "{twice}");
        let foreign = refused(&line(0, 1).replace("\"seed\":1", "\"seed\":2"));
        assert!(foreign.contains("line 1: case 0 has seed 2, and the run has 1"), "{foreign}");
    }
}
