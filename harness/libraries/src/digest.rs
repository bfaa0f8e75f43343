use std::{
    fmt::{self, Write as _},
    fs::File,
    io::Read,
    path::Path,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Error;

/// A SHA-256 in hexadecimal, as `sha256sum` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest(String);

const CHUNK: usize = 1 << 20;

/// The digest of a file, which is read in full.
pub(crate) fn sha256(path: &Path) -> Result<Digest, Error> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk).map_err(Error::io("read", path))? {
            0 => return Ok(Digest::new(&hasher.finalize())),
            length => hasher.update(&chunk[..length]),
        }
    }
}

/// The digest of these bytes.
pub(crate) fn sha256_of(bytes: &[u8]) -> Digest {
    Digest::new(&Sha256::digest(bytes))
}

impl Digest {
    fn new(bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // writing to a String cannot fail
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }

    /// The 64 hexadecimal digits, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 64 && text.bytes().all(is_digit) { Ok(Self(text)) } else { Err("not a SHA-256") }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn the_digest_is_the_published_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        assert_eq!(
            sha256(file.path()).unwrap().as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
