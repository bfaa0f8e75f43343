//! Files that came from somewhere else.

use std::{
    fs::{self, File},
    io::{self, BufRead, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The most bytes of a file that is read whole: as many as of a model.
pub const MAX_FILE_BYTES: u64 = twinfer_onnx::MAX_MODEL_BYTES as u64;

/// The most bytes of a line of a journal.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// A file of a later time than this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its format is {format}, this version of twinfer reads up to {newest}")]
pub struct LaterFormat {
    format: u32,
    newest: u32,
}

/// That a file's `format` is none later than the `newest` that is known here.
pub const fn check_format(format: u32, newest: u32) -> Result<(), LaterFormat> {
    if format > newest { Err(LaterFormat { format, newest }) } else { Ok(()) }
}

/// Opens a file for reading, which must be a regular one: a pipe or a device could be read without end, or not at all.
pub fn open_file(path: &Path) -> io::Result<File> {
    let is_regular = |found: fs::Metadata| {
        if found.is_file() {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
        }
    };
    // before it is opened, because opening a device may act on it
    is_regular(fs::metadata(path)?)?;
    // without waiting, because another file may have taken its place: opening a pipe waits for the other end
    let file = File::options()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    is_regular(file.metadata()?)?;
    Ok(file)
}

/// The bytes of a file, which must be a regular one and hold at most `most` bytes.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {most} bytes")));
    }
    Ok(bytes)
}

/// The bytes of a file of at most [`MAX_FILE_BYTES`] in `folder`; a link that leads out of the folder is refused.
pub fn read_file_in(folder: &Path, name: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_file(&path_in(folder, name, &[folder])?, MAX_FILE_BYTES)
}

/// The `length` bytes behind the first `offset` ones of a file in `folder`, or all of them if there is no `length`, at most `most`; a link
/// that leads to none of `allowed` is refused.
pub fn read_part_in(
    folder: &Path,
    name: impl AsRef<Path>,
    allowed: &[&Path],
    (offset, length): (u64, Option<u64>),
    most: u64,
) -> io::Result<Vec<u8>> {
    let mut file = open_file(&path_in(folder, name, allowed)?)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length.unwrap_or(u64::MAX).min(most.saturating_add(1))).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes")));
    }
    if length.is_some_and(|length| length > bytes.len() as u64) {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is too short"));
    }
    Ok(bytes)
}

/// The path of a file in `folder`, unless a link leads out of the folders that are `allowed`.
fn path_in(folder: &Path, name: impl AsRef<Path>, allowed: &[&Path]) -> io::Result<PathBuf> {
    let path = fs::canonicalize(folder.join(name))?;
    for folder in allowed {
        if path.starts_with(fs::canonicalize(folder)?) {
            return Ok(path);
        }
    }
    Err(io::Error::other("it leads out of its folder"))
}

/// Puts the next line into `line`, with its end; false where there is none.
pub fn read_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    file.take(MAX_LINE_BYTES + 1).read_until(b'\n', line)?;
    check_line(line)?;
    Ok(!line.is_empty())
}

/// Fails if a line, with its end, is longer than [`read_line`] reads.
pub fn check_line(line: &[u8]) -> io::Result<()> {
    if line.len() as u64 > MAX_LINE_BYTES {
        let message = format!("a line is longer than {MAX_LINE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit_and_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read_file(&path, 5).unwrap(), b"12345");
        assert_eq!(read_file(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn part_of_a_file_is_read_and_nothing_outside_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), b"12345").unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let read = |folder: &Path, name, part, most| {
            read_part_in(folder, name, &[folder], part, most).map_err(|error| error.kind())
        };
        assert_eq!(read(folder.path(), "file", (1, Some(2)), 2).unwrap(), b"23");
        assert_eq!(read(folder.path(), "file", (3, None), 2).unwrap(), b"45");
        assert_eq!(read(folder.path(), "file", (0, Some(3)), 2), Err(io::ErrorKind::FileTooLarge));
        assert_eq!(read(folder.path(), "file", (0, None), 4), Err(io::ErrorKind::FileTooLarge));
        assert_eq!(read(folder.path(), "file", (4, Some(2)), 9), Err(io::ErrorKind::UnexpectedEof));
        assert_eq!(read(&inside, "../file", (0, None), 9), Err(io::ErrorKind::Other));
    }

    #[test]
    fn what_never_ends_or_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [Path::new("/dev/zero"), folder.path()] {
            assert!(read_file(path, 1 << 10).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn pipe_is_refused_without_waiting_for_its_other_end() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for path in [pipe, link] {
            assert!(open_file(&path).unwrap_err().to_string().contains("not a regular file"));
        }
    }

    #[test]
    fn a_link_may_lead_to_its_own_folder_and_to_no_other() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, secret) = (parent.path().join("case"), parent.path().join("secret"));
        fs::create_dir(&folder).unwrap();
        fs::write(&secret, b"secret").unwrap();
        fs::write(folder.join("own"), b"own").unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("out")).unwrap();
        std::os::unix::fs::symlink(parent.path(), folder.join("folder")).unwrap();
        std::os::unix::fs::symlink("own", folder.join("within")).unwrap();
        assert_eq!(read_file_in(&folder, "within").unwrap(), b"own");
        for name in ["out", "folder/secret", "../secret", "nul\0byte"] {
            assert!(read_file_in(&folder, name).is_err(), "{name}");
        }
        assert!(read_file_in(&folder, &secret).is_err(), "an absolute path");
    }

    #[test]
    fn a_line_without_an_end_is_refused_at_the_limit() {
        let mut line = Vec::new();
        assert!(read_line(&mut &b"one\ntwo"[..], &mut line).unwrap());
        assert_eq!(line, b"one\n");
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        assert!(read_line(&mut endless, &mut line).is_err());
        assert!(line.len() as u64 <= MAX_LINE_BYTES + 1);
    }
}
