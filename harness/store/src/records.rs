//! The *records* of a run directory, read one at a time to report, merge or resume the run.

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

/// The cases of a run in case order, each as it was last decided. One case is held in memory at a time, beside the cases that
/// were decided again.
///
/// An incomplete last line of the journal, which a killed campaign leaves, is ignored.
pub struct Records {
    journal: Lines<BufReader<File>>,
    /// The cases that were decided again, by place in the campaign.
    revisited: BTreeMap<u64, CaseRecord>,
}

/// The complete lines of a file, each a record.
struct Lines<R> {
    path: PathBuf,
    file: R,
    line: Vec<u8>,
    number: u64,
    /// Bytes of the lines that were read.
    bytes: u64,
}

impl Records {
    /// Opens the records of the run in `run_directory`.
    pub fn open(run_directory: &Path) -> Result<Self, StoreError> {
        let path = run_directory.join(JOURNAL);
        let file = File::open(&path).map_err(|source| StoreError::File { path: path.clone(), source })?;
        let revisited = revisited(run_directory.join(REVISITED))?;
        Ok(Self { journal: Lines::of(path, BufReader::new(file)), revisited })
    }

    /// How many bytes of the journal were read: complete lines only.
    pub const fn bytes(&self) -> u64 {
        self.journal.bytes
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

/// The last record of each case that was decided again, by place in the campaign.
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
        Self { path, file, line: Vec::new(), number: 0, bytes: 0 }
    }

    /// The record on a line.
    fn record(&self, text: &[u8]) -> Result<CaseRecord, StoreError> {
        let invalid = |reason| StoreError::Format { path: self.path.clone(), reason };
        let record: CaseRecord = serde_json::from_slice(text)
            .map_err(|error| invalid(format!("line {}: {error}", self.number)))?;
        check_format(record.format, JOURNAL_FORMAT).map_err(|error| invalid(error.to_string()))?;
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
        self.bytes += self.line.len() as u64;
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
    fn cases_are_read_as_they_were_last_decided() {
        let journal = [line(0, 1), line(2, 1), line(4, 1), line(6, 1)].concat();
        let revisited = [line(2, 2), line(6, 2), line(2, 3), line(8, 2)].concat();
        let cases = [(Some(0), 1), (Some(2), 3), (Some(4), 1), (Some(6), 2)];
        assert_eq!(read(&journal, &revisited), cases);
        // an incomplete line is ignored
        assert_eq!(read(&journal, &revisited[..revisited.len() - line(8, 2).len() - 9])[1], (Some(2), 2));
        assert_eq!(read(&journal[..journal.len() - 1], &revisited), cases[..3]);
    }

    #[test]
    fn decisions_about_another_case_are_ignored() {
        let other = line(7, 2).replace("\"index\":7", "\"index\":2");
        assert_eq!(read(&line(2, 1), &other), [(Some(2), 1)]);
    }

    #[test]
    fn missing_journals_and_invalid_lines_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let absent = Records::open(folder.path()).err().unwrap().to_string();
        assert!(absent.contains(JOURNAL), "{absent}");
        fs::write(folder.path().join(JOURNAL), line(0, 1) + "{}\n").unwrap();
        let invalid = Records::open(folder.path()).unwrap().nth(1).unwrap().unwrap_err().to_string();
        assert!(invalid.contains("line 2"), "{invalid}");
    }
}
