//! The SHA-256 of files that have not changed since they were read in full.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use crate::{Digest, Error, digest::sha256_of};

/// A folder with one small file per digest.
///
/// A file on disk is the same as before if its [`Stamp`] is. What is in the folder is untrusted: an entry that cannot be read
/// counts as absent. Whoever can write there can also replace the libraries.
pub(crate) struct DigestCache {
    folder: PathBuf,
}

/// One digest, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    stamp: Stamp,
    sha256: Digest,
}

/// What the file system says of a file. Writing to a file, replacing it or setting back its time of modification changes the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    pub(crate) bytes: u64,
    modified: Instant,
    changed: Instant,
}

/// Seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Instant(i64, i64);

/// The most bytes that are read of an entry; one with the longest path that Linux allows is smaller.
const LARGEST_ENTRY: u64 = 64 << 10;

/// Seconds after which a second change of a file surely has another time than the first.
const TICK: i64 = 2;

impl DigestCache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The digest of the file at `path`; `None` if it is not known or the file no longer has this stamp.
    pub(crate) fn get(&self, path: &Path, stamp: Stamp) -> Option<Digest> {
        let file = File::open(self.entry_of(path)).ok()?;
        let entry: Entry = serde_json::from_reader(file.take(LARGEST_ENTRY)).ok()?;
        (entry.path == path && entry.stamp == stamp).then_some(entry.sha256)
    }

    /// Stores a digest. If that fails, the file is only read again the next time.
    pub(crate) fn put(&self, path: &Path, stamp: Stamp, sha256: &Digest) {
        let entry = Entry { path: path.to_owned(), stamp, sha256: sha256.clone() };
        let _ = self.write(&entry);
    }

    fn write(&self, entry: &Entry) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        serde_json::to_writer(&mut file, entry)?;
        file.persist(self.entry_of(&entry.path))?;
        Ok(())
    }

    fn entry_of(&self, path: &Path) -> PathBuf {
        let name = sha256_of(path.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{name}.json"))
    }
}

impl Stamp {
    /// The stamp of the file at `path`; an error if that is a folder, a pipe or a device.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Error> {
        let metadata = fs::metadata(path).map_err(Error::io("read", path))?;
        if metadata.is_file() {
            Ok(Self::of(&metadata))
        } else {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            Err(Error::Io { action: "read", path: path.to_owned(), source })
        }
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: Instant(metadata.mtime(), metadata.mtime_nsec()),
            changed: Instant(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether any later change of the file gives it another stamp: not if it changed just now, within the resolution of the
    /// file system's clock.
    pub(crate) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        self.changed.0 + TICK < now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> Stamp {
        Stamp { device: 1, inode: 2, bytes: 3, modified: Instant(4, 5), changed: Instant(6, 7) }
    }

    #[test]
    fn file_from_the_future_is_not_settled() {
        // as files are after the clock was set back
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let changed = |seconds| Stamp { changed: Instant(seconds, 0), ..stamp() };
        assert!(changed(now - 3600).is_settled());
        assert!(!changed(now + 3600).is_settled());
    }

    fn cache() -> (tempfile::TempDir, DigestCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = DigestCache::new(folder.path().join("digests"));
        (folder, cache)
    }

    #[test]
    fn digest_is_found_under_its_path_and_stamp_only() {
        let (_folder, cache) = cache();
        let (path, digest) = (Path::new("/opt/libx.so"), sha256_of(b"x"));
        cache.put(path, stamp(), &digest);
        assert_eq!(cache.get(path, stamp()), Some(digest));
        assert_eq!(cache.get(Path::new("/opt/liby.so"), stamp()), None);
        let others = [
            Stamp { device: 0, ..stamp() },
            Stamp { inode: 0, ..stamp() },
            Stamp { bytes: 0, ..stamp() },
            Stamp { modified: Instant(4, 6), ..stamp() },
            Stamp { changed: Instant(6, 8), ..stamp() },
        ];
        assert!(others.into_iter().all(|other| cache.get(path, other).is_none()));
    }

    #[test]
    fn damaged_entry_counts_as_absent() {
        let (_folder, cache) = cache();
        let path = Path::new("/opt/libx.so");
        cache.put(path, stamp(), &sha256_of(b"x"));
        let entry = cache.entry_of(path);
        let text = fs::read_to_string(&entry).unwrap();
        let foreign = text.replace(sha256_of(b"x").as_str(), "not a digest");
        let endless = "[".repeat(1 << 20);
        for damaged in ["", "{}", &text[..text.len() / 2], &foreign, &endless] {
            fs::write(&entry, damaged).unwrap();
            assert_eq!(cache.get(path, stamp()), None, "{damaged:.80}");
        }
        cache.put(path, stamp(), &sha256_of(b"x"));
        assert!(cache.get(path, stamp()).is_some());
    }

    #[test]
    fn store_that_cannot_be_written_is_no_error() {
        let cache = DigestCache::new(PathBuf::from("/proc/nowhere"));
        cache.put(Path::new("/opt/libx.so"), stamp(), &sha256_of(b"x"));
        assert_eq!(cache.get(Path::new("/opt/libx.so"), stamp()), None);
    }
}
