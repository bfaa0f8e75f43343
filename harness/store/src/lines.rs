//! The verified lines of a journal.

use std::{
    io::{self, BufRead},
    path::PathBuf,
};

use serde::Deserialize;
use twinfer_case::{
    CaseHash, CaseRecord, JOURNAL_FORMAT, JournalEnd, Provenance, RunInfo, check_format, check_line,
    read_line,
};

use crate::{
    StoreError,
    chain::{Broken, Chain},
};

/// The first format whose lines have checksums.
const CHAINED: u32 = 4;

/// The most lines of a journal that are written and not yet certain to be on disk. A computer that loses power may leave as
/// many damaged ones at the end.
pub const MAX_UNSYNCED: u64 = 1024;

/// What a line says of its case besides the verdicts.
#[derive(Deserialize)]
pub struct LineHead {
    /// The format of the record.
    pub format: u32,
    /// The index of the case; 0 in a format that does not state it.
    #[serde(default)]
    pub index: u64,
    /// The hash of the case.
    pub case: CaseHash,
    /// Where the case came from; `None` if no generator made it.
    pub provenance: Option<Provenance>,
}

/// The complete lines of a journal, each a record, as far as each follows the lines before it.
///
/// The last line may be incomplete, and so may the last [`MAX_UNSYNCED`] if the computer lost power: these end the journal. A line that
/// is complete and does not follow is an error that names it.
pub struct Lines<R> {
    path: PathBuf,
    file: R,
    line: Vec<u8>,
    position: Position,
    /// The journal when the campaign ended.
    end: Option<JournalEnd>,
    is_over: bool,
}

/// A place in a journal, behind a complete line.
#[derive(Clone, Debug)]
pub struct Position {
    /// Lines before it.
    pub lines: u64,
    /// Bytes before it.
    pub bytes: u64,
    /// What the next line follows; `None` in a format without checksums.
    pub chain: Option<Chain>,
}

impl Position {
    /// The start of the file `name` of `run`.
    pub fn start(run: &RunInfo, name: &str) -> Self {
        Self { lines: 0, bytes: 0, chain: (run.format >= CHAINED).then(|| Chain::of(run, name)) }
    }

    /// The next line, which ends here then: a record with its checksum. An error if the line is too long to be read again.
    pub fn append(&mut self, record: &CaseRecord) -> io::Result<Vec<u8>> {
        let mut chain = self.chain.clone();
        let line = match &mut chain {
            Some(chain) => chain.append(record)?,
            None => [serde_json::to_vec(record)?, b"\n".to_vec()].concat(),
        };
        check_line(&line)?;
        self.chain = chain;
        self.lines += 1;
        self.bytes += line.len() as u64;
        Ok(line)
    }

    /// The end of a journal, if it ends here.
    pub fn end(&self) -> Option<JournalEnd> {
        let checksum = self.chain.as_ref()?.checksum().to_owned();
        Some(JournalEnd { lines: self.lines, checksum })
    }
}

impl<R: BufRead> Lines<R> {
    /// The lines of `file`, which is at `path`, from `position` on. If they have checksums, they must reach at least to `end`.
    pub fn new(path: PathBuf, file: R, position: Position, end: Option<JournalEnd>) -> Self {
        let end = end.filter(|_| position.chain.is_some());
        Self { path, file, line: Vec::new(), position, end, is_over: false }
    }

    /// Where the last line that was read ends.
    pub const fn place(&self) -> &Position {
        &self.position
    }

    /// The path, the file, and where the last line that was read ends.
    pub fn into_parts(self) -> (PathBuf, R, Position) {
        (self.path, self.file, self.position)
    }

    /// The error that a journal is not as it was written, for a reason that begins with the place.
    pub fn invalid(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Format { path: self.path.clone(), reason: reason.into() }
    }

    /// The next line; `None` at the end.
    fn read(&mut self) -> Result<Option<LineHead>, StoreError> {
        if !self.read_line()? {
            return self.reached().map(|()| None);
        }
        let number = self.position.lines + 1;
        let parsed = serde_json::from_slice::<LineHead>(text(&self.line));
        let followed = self.position.chain.as_mut().map_or(Ok(()), |chain| chain.follow(text(&self.line)));
        let head = match (parsed, followed) {
            (Ok(head), Ok(())) => head,
            (Ok(_), Err(Broken::Foreign)) => return Err(self.foreign(number)),
            (Err(error), Ok(())) => return Err(self.invalid(format!("line {number}: {error}"))),
            // parts of it are missing
            (Err(_), Err(_)) | (_, Err(Broken::Torn)) => {
                return self.skip_torn().and_then(|()| self.reached()).map(|()| None);
            }
        };
        check_format(head.format, JOURNAL_FORMAT).map_err(|error| self.invalid(error.to_string()))?;
        self.position.lines = number;
        self.position.bytes += self.line.len() as u64;
        self.check_end()?;
        Ok(Some(head))
    }

    /// Reads the next complete line.
    fn read_line(&mut self) -> Result<bool, StoreError> {
        read_line(&mut self.file, &mut self.line).map_err(StoreError::file(&self.path))?;
        Ok(self.line.ends_with(b"\n"))
    }

    /// Reads to the end behind a torn line. An error if that line was on disk for certain, or was put there later.
    fn skip_torn(&mut self) -> Result<(), StoreError> {
        let torn = self.position.lines + 1;
        for behind in 0.. {
            if behind > MAX_UNSYNCED {
                return Err(
                    self.invalid(format!("line {torn} is damaged: {behind} lines and more follow it"))
                );
            }
            if !self.read_line()? {
                break;
            }
            let mut chain = self.position.chain.clone();
            if chain.as_mut().is_some_and(|chain| chain.follow(text(&self.line)).is_ok()) {
                return Err(self.invalid(format!("line {torn} was inserted")));
            }
        }
        Ok(())
    }

    fn foreign(&self, number: u64) -> StoreError {
        let before = number - 1;
        let place = if before == 0 { "the start of the run".to_owned() } else { format!("line {before}") };
        self.invalid(format!(
            "line {number} does not follow {place}: a line was removed, repeated, changed or moved, or comes from another run"
        ))
    }

    /// Checks the line that was the last one when the campaign ended.
    fn check_end(&self) -> Result<(), StoreError> {
        match &self.end {
            Some(end) if end.lines == self.position.lines && self.position.end().as_ref() != Some(end) => {
                Err(self.invalid(format!("line {} is not the one with which the run ended", end.lines)))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the journal is as long as when the campaign ended.
    fn reached(&self) -> Result<(), StoreError> {
        let lines = self.position.lines;
        match &self.end {
            Some(end) if end.lines > lines => Err(self.invalid(format!(
                "it holds {lines} complete lines, and held {} when the run ended: copy the run directory again",
                end.lines
            ))),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<LineHead, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let head = self.read().transpose();
        self.is_over = !matches!(head, Some(Ok(_)));
        head
    }
}

/// A line without its end.
fn text(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}
