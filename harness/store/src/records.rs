//! The *records* of a run directory, as whoever tells, merges or goes on with the run reads them.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, ErrorKind},
    path::{Path, PathBuf},
};

use twinfer_case::{CaseRecord, JOURNAL_FORMAT, MAX_FILE_BYTES, check_format, read_file, read_line};

use crate::{
    StoreError,
    names::{JOURNAL, REVISITED},
};

/// The cases of a run in case order, each as it was last decided; one is held at a time, beside those that were looked at
/// again.
///
/// Of a journal that was cut off in the middle of a line, everything before that line is taken.
pub struct Records {
    journal: Lines<BufReader<File>>,
    /// By place in the campaign.
    revisited: BTreeMap<u64, CaseRecord>,
}

/// The whole lines of a file, each a record.
struct Lines<R> {
    path: PathBuf,
    file: R,
    line: Vec<u8>,
    number: u64,
    /// Bytes of the lines so far.
    whole: u64,
}

impl Records {
    /// Opens those of `run_directory`.
    pub fn open(run_directory: &Path) -> Result<Self, StoreError> {
        let path = run_directory.join(JOURNAL);
        let file = File::open(&path).map_err(|source| StoreError::File { path: path.clone(), source })?;
        let revisited = revisited(run_directory.join(REVISITED))?;
        Ok(Self { journal: Lines::of(path, BufReader::new(file)), revisited })
    }

    /// The bytes of the journal's lines that were read.
    pub const fn whole(&self) -> u64 {
        self.journal.whole
    }
}

impl Iterator for Records {
    type Item = Result<CaseRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.journal.next()?;
        Some(record.map(|record| {
            let revisited = record.place().and_then(|place| self.revisited.remove(&place));
            revisited.filter(|revisited| revisited.case == record.case).unwrap_or(record)
        }))
    }
}

/// The last record of each case that was looked at again.
fn revisited(path: PathBuf) -> Result<BTreeMap<u64, CaseRecord>, StoreError> {
    let bytes = match read_file(&path, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(StoreError::File { path, source }),
    };
    let records = Lines::of(path, bytes.as_slice());
    let placed = records.filter_map(|record| match record {
        Ok(record) => Some(Ok((record.place()?, record))),
        Err(error) => Some(Err(error)),
    });
    placed.collect()
}

impl<R> Lines<R> {
    const fn of(path: PathBuf, file: R) -> Self {
        Self { path, file, line: Vec::new(), number: 0, whole: 0 }
    }

    /// The record on the line that was read.
    fn record(&self, text: &[u8]) -> Result<CaseRecord, StoreError> {
        let senseless = |reason| StoreError::Format { path: self.path.clone(), reason };
        let record: CaseRecord = serde_json::from_slice(text)
            .map_err(|error| senseless(format!("line {}: {error}", self.number)))?;
        check_format(record.format, JOURNAL_FORMAT).map_err(|error| senseless(error.to_string()))?;
        Ok(record)
    }
}

impl<R: io::BufRead> Iterator for Lines<R> {
    type Item = Result<CaseRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(source) = read_line(&mut self.file, &mut self.line) {
            return Some(Err(StoreError::File { path: self.path.clone(), source }));
        }
        let text = self.line.strip_suffix(b"\n")?;
        self.number += 1;
        let record = self.record(text);
        self.whole += self.line.len() as u64;
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn line(place: u64, macs: u64) -> String {
        let case = format!("{place:02x}").repeat(32);
        let record = serde_json::json!({
            "format": JOURNAL_FORMAT, "case": case, "variants": [], "findings": [], "macs": macs,
            "provenance": {"family": "conv", "seed": 1, "index": place},
        });
        format!("{record}\n")
    }

    fn read(journal: &str, revisited: &str) -> Vec<(Option<u64>, u64)> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(JOURNAL), journal).unwrap();
        fs::write(folder.path().join(REVISITED), revisited).unwrap();
        let records = Records::open(folder.path()).unwrap();
        records.map(Result::unwrap).map(|record| (record.place(), record.macs)).collect()
    }

    #[test]
    fn a_case_is_read_as_it_was_last_decided() {
        let journal = [line(0, 1), line(2, 1), line(4, 1), line(6, 1)].concat();
        let revisited = [line(2, 2), line(6, 2), line(2, 3), line(8, 2)].concat();
        let cases = [(Some(0), 1), (Some(2), 3), (Some(4), 1), (Some(6), 2)];
        assert_eq!(read(&journal, &revisited), cases);
        // what was cut off is not there
        assert_eq!(read(&journal, &revisited[..revisited.len() - line(8, 2).len() - 9])[1], (Some(2), 2));
        assert_eq!(read(&journal[..journal.len() - 1], &revisited), cases[..3]);
    }

    #[test]
    fn what_was_decided_of_another_case_counts_for_none() {
        let other = line(7, 2).replace("\"index\":7", "\"index\":2");
        assert_eq!(read(&line(2, 1), &other), [(Some(2), 1)]);
    }

    #[test]
    fn a_run_without_a_journal_and_a_line_that_is_no_record_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let absent = Records::open(folder.path()).err().unwrap().to_string();
        assert!(absent.contains(JOURNAL), "{absent}");
        fs::write(folder.path().join(JOURNAL), line(0, 1) + "{}\n").unwrap();
        let senseless = Records::open(folder.path()).unwrap().nth(1).unwrap().unwrap_err().to_string();
        assert!(senseless.contains("line 2"), "{senseless}");
    }
}
