use std::{fmt::Write as _, fs::File, io::Read, path::Path};

use sha2::{Digest, Sha256};

use crate::Error;

const CHUNK: usize = 1 << 20;

/// The SHA-256 of a file, in hexadecimal as `sha256sum` prints it.
pub(crate) fn sha256(path: &Path) -> Result<String, Error> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk).map_err(Error::io("read", path))? {
            0 => return Ok(hex(&hasher.finalize())),
            length => hasher.update(&chunk[..length]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // writing to a String cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn the_digest_is_the_published_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        assert_eq!(
            sha256(file.path()).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
