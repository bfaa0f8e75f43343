//! Compares libraries with what was installed, by the SHA-256 of their files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    Digest, Error, Installed, LibraryFile, Store,
    digest::sha256,
    digest_cache::{DigestCache, Stamp},
    stand_in,
};

/// How the digest of a file is obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// The file is read, unless its device, inode, size and times are those with which it was last read.
    Cached,
    /// The file is read in full, about a second per gigabyte.
    Full,
}

/// A library whose files are those that were installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The name of the installation, such as `tensorrt-8.6`, or the path of a folder that was given in its place.
    pub name: String,
    /// The version, as precise as the packaging states it.
    pub version: String,
    /// The libraries, with their digests; the first is the one that is loaded.
    pub files: Vec<LibraryFile>,
}

impl Store {
    /// The digest of a library, inside this store or not. It is cached until the file changes.
    pub fn digest(&self, file: &Path) -> Result<Digest, Error> {
        self.describe(file, Hashing::Cached).map(|described| described.sha256)
    }

    /// Compares the files of `libraries` with the digests recorded when they were installed, several files at a time.
    ///
    /// A library that was found by the path of its folder has no record, so that it is only described.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] names the first file that is not the installed one, and the command that installs it again.
    pub fn verify(&self, libraries: &[Installed], hashing: Hashing) -> Result<Vec<Verified>, Error> {
        let files: Vec<&PathBuf> = libraries.iter().flat_map(|library| &library.files).collect();
        let mut described = in_parallel(&files, |file| self.describe(file, hashing)).into_iter();
        libraries
            .iter()
            .map(|library| {
                let files = described.by_ref().take(library.files.len()).collect::<Result<Vec<_>, _>>()?;
                library.compare(&files)?;
                if hashing == Hashing::Full {
                    library.compare_packages()?;
                }
                Ok(Verified { name: library.name.clone(), version: library.version.clone(), files })
            })
            .collect()
    }

    fn describe(&self, file: &Path, hashing: Hashing) -> Result<LibraryFile, Error> {
        let path = fs::canonicalize(file).map_err(Error::io("read", file))?;
        let before = Stamp::of_file(&path)?;
        let cached = match hashing {
            Hashing::Cached => self.digests().get(&path, before),
            Hashing::Full => None,
        };
        let sha256 = cached.map_or_else(|| self.read_in_full(&path, before), Ok)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(LibraryFile { name, bytes: before.bytes, sha256 })
    }

    /// The digest of a file that had the stamp `before`. It is cached unless the file may have changed in the meantime.
    fn read_in_full(&self, path: &Path, before: Stamp) -> Result<Digest, Error> {
        let is_settled = before.is_settled();
        let digest = sha256(path)?;
        if is_settled && Stamp::of_file(path)? == before {
            self.digests().put(path, before, &digest);
        }
        Ok(digest)
    }

    fn digests(&self) -> DigestCache {
        DigestCache::new(self.root().join(".digests"))
    }
}

impl Installed {
    /// Compares what its files are with what was recorded of them.
    fn compare(&self, files: &[LibraryFile]) -> Result<(), Error> {
        let Some(record) = &self.record else { return Ok(()) };
        if let Some((changed, _)) = record.files.iter().zip(files).find(|(recorded, found)| recorded != found)
        {
            return Err(
                record.damaged(self.directory.join(&changed.name), "is not the file that was installed")
            );
        }
        let Some(folder) = &self.stand_ins else { return Ok(()) };
        match record.stand_ins.iter().find(|name| !stand_in::is_intact(name, folder)) {
            Some(name) => Err(record.damaged(folder.join(name), "is not the stand-in that was installed")),
            None => Ok(()),
        }
    }
}

impl Installed {
    /// Compares what Python imports with the wheels that it was unpacked from.
    fn compare_packages(&self) -> Result<(), Error> {
        let Some(record) = self.record.as_ref() else { return Ok(()) };
        match self.changed_package_file()? {
            Some(changed) => Err(record.damaged(changed, "is not the file that was installed")),
            None => Ok(()),
        }
    }
}

/// The results of `work` on each of `items`, in order. Each core works on one item at a time.
fn in_parallel<I: Sync, R: Send>(items: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((index, item)) = next_of(items, &next) {
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn next_of<'a, I>(items: &'a [I], next: &AtomicUsize) -> Option<(usize, &'a I)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    items.get(index).map(|item| (index, item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::sha256_of;

    /// A library in a folder of its own that is registered in a store.
    struct Registered {
        libraries: tempfile::TempDir,
        home: tempfile::TempDir,
        installed: Installed,
    }

    const FILE: &str = "libonnxruntime.so.1.31.1";

    impl Registered {
        fn new() -> Self {
            let (libraries, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            fs::write(libraries.path().join(FILE), "one").unwrap();
            let installed = Store::at(home.path()).install(&libraries.path().to_string_lossy(), &mut |_| {});
            Self { installed: installed.unwrap(), libraries, home }
        }

        fn file(&self) -> PathBuf {
            self.libraries.path().join(FILE)
        }

        fn store(&self) -> Store {
            Store::at(self.home.path())
        }

        /// Pretends that the file was read in full while it held `contents`.
        fn cache(&self, contents: &str) {
            let path = fs::canonicalize(self.file()).unwrap();
            let stamp = Stamp::of(&fs::metadata(&path).unwrap());
            self.store().digests().put(&path, stamp, &sha256_of(contents.as_bytes()));
        }

        fn verify(&self, hashing: Hashing) -> Result<Vec<Verified>, Error> {
            self.store().verify(std::slice::from_ref(&self.installed), hashing)
        }
    }

    #[test]
    fn changed_byte_names_the_file_and_the_command() {
        let library = Registered::new();
        let verified = library.verify(Hashing::Full).unwrap();
        assert_eq!(verified[0].files[0].sha256, sha256_of(b"one"));
        fs::write(library.file(), "two").unwrap();
        for hashing in [Hashing::Cached, Hashing::Full] {
            let folder = fs::canonicalize(library.libraries.path()).unwrap();
            assert_eq!(
                library.verify(hashing).unwrap_err().to_string(),
                format!(
                    "{}/{FILE} is not the file that was installed: run `twinfer backends install {}`",
                    folder.display(),
                    folder.display()
                )
            );
        }
    }

    #[test]
    fn cached_digest_is_used_until_the_file_changes() {
        let library = Registered::new();
        library.cache("other");
        assert_eq!(library.store().digest(&library.file()).unwrap(), sha256_of(b"other"));
        assert!(library.verify(Hashing::Cached).is_err());
        fs::write(library.file(), "one").unwrap();
        assert_eq!(library.store().digest(&library.file()).unwrap(), sha256_of(b"one"));
        library.verify(Hashing::Cached).unwrap();
    }

    #[test]
    fn full_verification_ignores_the_cache() {
        let library = Registered::new();
        fs::write(library.file(), "two").unwrap();
        library.cache("one");
        library.verify(Hashing::Cached).unwrap();
        assert!(matches!(library.verify(Hashing::Full), Err(Error::Damaged { .. })));
    }

    #[test]
    fn file_that_just_changed_is_not_cached() {
        let library = Registered::new();
        library.store().digest(&library.file()).unwrap();
        assert!(!library.home.path().join(".digests").exists());
    }

    #[test]
    fn changed_stand_in_is_damage() {
        let (libraries, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(libraries.path().join(FILE), "one").unwrap();
        let store = Store::at(home.path());
        let mut installed = store.install(&libraries.path().to_string_lossy(), &mut |_| {}).unwrap();
        let name = "libcublas.so.12".to_owned();
        stand_in::write_all(std::slice::from_ref(&name), home.path()).unwrap();
        installed.stand_ins = Some(stand_in::folder(home.path()));
        installed.record.as_mut().unwrap().stand_ins.push(name.clone());
        store.verify(std::slice::from_ref(&installed), Hashing::Full).unwrap();
        fs::write(stand_in::folder(home.path()).join(&name), "code").unwrap();
        let error = store.verify(&[installed], Hashing::Full).unwrap_err();
        assert!(error.to_string().contains("stand-ins/libcublas.so.12 is not the stand-in"), "{error}");
    }

    #[test]
    fn library_that_is_no_file_is_an_error() {
        let store = Store::at("/nowhere");
        assert!(store.digest(Path::new("/dev/zero")).is_err());
        assert!(store.digest(Path::new("/")).is_err());
    }

    #[test]
    fn parallel_results_keep_the_order() {
        let items: Vec<usize> = (0..50).collect();
        assert_eq!(
            in_parallel(&items, |item| item * 2),
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert!(in_parallel(&[] as &[usize], |item| *item).is_empty());
    }
}
