//! The checksums that join the lines of a journal: each covers its line and, by the checksum of the line before, all lines above.

use twinfer_case::{CaseRecord, RunInfo};

/// The digits of a checksum.
const DIGITS: usize = 32;
/// What stands between the record of a line and its checksum, and behind the checksum.
const BEFORE: &[u8] = br#","checksum":""#;
const BEHIND: &[u8] = br#""}"#;

/// The checksum of the last line that was written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain(String);

/// Why a line does not follow the lines before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The line does not end with a checksum: it was not written completely, or it was changed.
    Torn,
    /// The line has the checksum of another line, or follows other lines.
    Foreign,
}

impl Chain {
    /// The checksum before the first line of the file `name` of `run`. Each run begins with another.
    pub fn of(run: &RunInfo, name: &str) -> Self {
        Self(checksum("", format!("{name} {} {} {}", run.id, run.seed, run.shard).as_bytes()))
    }

    /// The next line: the record with its checksum.
    pub fn append(&mut self, record: &CaseRecord) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(record)?;
        // the brace that closes the record comes behind the checksum
        line.pop();
        self.0 = checksum(&self.0, &line);
        line.extend([BEFORE, self.0.as_bytes(), BEHIND, b"\n"].concat());
        Ok(line)
    }

    /// Takes the checksum of the next `line`, given without its end, if the line follows.
    pub fn follow(&mut self, line: &[u8]) -> Result<(), Broken> {
        let (record, stated) = split(line).ok_or(Broken::Torn)?;
        if stated != checksum(&self.0, record).as_bytes() {
            return Err(Broken::Foreign);
        }
        self.0 = String::from_utf8_lossy(stated).into_owned();
        Ok(())
    }

    /// The checksum.
    pub fn checksum(&self) -> &str {
        &self.0
    }
}

/// The record and the checksum of a line.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, stated) = line.strip_suffix(BEHIND)?.split_last_chunk::<DIGITS>()?;
    stated.iter().all(u8::is_ascii_hexdigit).then_some((rest.strip_suffix(BEFORE)?, stated.as_slice()))
}

fn checksum(before: &str, line: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before.as_bytes()).update(line);
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}
