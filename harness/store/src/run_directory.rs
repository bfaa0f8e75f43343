//! Claiming a run directory: nothing is written there before its lock is held, and nothing is checked before that either.

use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    Disk, LocalDisk, StoreError,
    files::remove_unfinished,
    names::{DEBUG_LOG, FINDINGS, JOURNAL, REVISITED, RUN},
};

/// A run directory that no other process writes to while this value, or a journal of it, lives.
///
/// The lock is on the journal, which is therefore the first file of a run, and stays when the run is complete.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    journal: File,
    disk: Arc<dyn Disk>,
    start: Start,
    /// Whether the folder, and the journal in it, existed before.
    existed: (bool, bool),
}

/// Whether a run begins in a run directory or goes on there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The directory holds no run yet.
    New,
    /// The directory holds a run.
    Resumed,
}

impl RunDirectory {
    /// Claims the folder `out` for a new run, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// If the folder holds a run, complete or not, or files with the names of those of a run; or if another process has claimed it.
    pub fn create(out: &Path) -> Result<Self, StoreError> {
        Self::create_on(out, Arc::new(LocalDisk))
    }

    /// As [`create`](Self::create), on `disk`.
    pub fn create_on(out: &Path, disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        let folder_existed = out.is_dir();
        fs::create_dir_all(out).map_err(StoreError::writing(out))?;
        Self::create_in(out, folder_existed, disk)
    }

    fn create_in(out: &Path, folder_existed: bool, disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        // a folder that is refused gets no journal either
        refuse_run(out)?;
        let journal_existed = exists(&out.join(JOURNAL))?;
        let journal = lock(&out.join(JOURNAL), Missing::Create)?;
        refuse_run(out)?;
        if journal_existed {
            // a run that was killed before it recorded anything
            remove_unfinished(out)?;
        }
        let existed = (folder_existed, journal_existed);
        Ok(Self { path: out.to_owned(), journal, disk, start: Start::New, existed })
    }

    /// Claims a new folder, the first of `runs/0001`, `runs/0002`, … that does not exist, for a new run.
    pub fn create_next() -> Result<Self, StoreError> {
        Self::create_in(&new_run_directory()?, false, Arc::new(LocalDisk))
    }

    /// Claims the folder `out` to resume the run that it holds.
    ///
    /// # Errors
    ///
    /// If the folder holds no run, or if another process has claimed it. Nothing is created.
    pub fn resume(out: &Path) -> Result<Self, StoreError> {
        Self::resume_on(out, Arc::new(LocalDisk))
    }

    /// As [`resume`](Self::resume), on `disk`.
    pub fn resume_on(out: &Path, disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        if !out.join(RUN).is_file() {
            return Err(StoreError::NothingToResume(out.to_owned()));
        }
        let journal = lock(&out.join(JOURNAL), Missing::Refuse)?;
        if !out.join(RUN).is_file() {
            return Err(StoreError::NothingToResume(out.to_owned()));
        }
        remove_unfinished(out)?;
        Ok(Self { path: out.to_owned(), journal, disk, start: Start::Resumed, existed: (true, true) })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the run begins here or goes on.
    pub const fn start(&self) -> Start {
        self.start
    }

    /// The disk that the directory is on.
    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.disk)
    }

    /// The journal, locked as long as the returned file or this value is open.
    pub(crate) fn journal(&self) -> Result<File, StoreError> {
        self.journal.try_clone().map_err(StoreError::writing(self.path.join(JOURNAL)))
    }

    /// Removes the journal and the findings of a run that was not completed: one without `run.json`. The directory held none of them when
    /// it was claimed.
    pub(crate) fn remove_incomplete(self) {
        if !has_run(&self.path) {
            let _ = fs::remove_dir_all(self.path.join(FINDINGS));
            let _ = self.journal.set_len(0);
            self.discard_without_run();
        }
    }

    /// Gives the directory up. If no run was started in it, what claiming it created is removed.
    pub fn discard_without_run(self) {
        if has_run(&self.path) {
            return;
        }
        let (folder_existed, journal_existed) = self.existed;
        let is_empty = self.journal.metadata().is_ok_and(|journal| journal.len() == 0);
        if !journal_existed && is_empty {
            let _ = fs::remove_file(self.path.join(JOURNAL));
        }
        if !folder_existed {
            // a folder that holds other files stays
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// What to do about a journal that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Create,
    Refuse,
}

/// Opens the journal at `path` for appending, and locks it against other processes while it is open.
fn lock(path: &Path, missing: Missing) -> Result<File, StoreError> {
    loop {
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(StoreError::format(path)("not a regular file: give another --out"));
        }
        let file = File::options().read(true).append(true).create(missing == Missing::Create).open(path);
        let file = match file {
            Err(error) if missing == Missing::Refuse && error.kind() == ErrorKind::NotFound => {
                return Err(StoreError::format(path)("missing: copy the run directory again"));
            }
            file => file.map_err(StoreError::writing(path))?,
        };
        held(try_lock(&file), path)?;
        // whoever held the lock before may have removed the file
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Locks a file as soon as nobody else holds it, within [`PATIENCE`].
fn try_lock(file: &File) -> Result<(), TryLockError> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => thread::sleep(PATIENCE / 20),
            locked => return locked,
        }
    }
}

/// A process that is being started shares the locks of the one that starts it until it runs its own program.
const PATIENCE: Duration = Duration::from_millis(200);

/// A file system without locks is refused, because two campaigns could overwrite each other there.
fn held(locked: Result<(), TryLockError>, path: &Path) -> Result<(), StoreError> {
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(StoreError::NoLocks { path: path.to_owned(), source }),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let (Ok(open), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    identity(open) == identity(there)
}

/// That `out` holds neither a run nor files that a run would have to overwrite. An empty journal is that of a run that was killed
/// before it began.
fn refuse_run(out: &Path) -> Result<(), StoreError> {
    if exists(&out.join(RUN))? {
        return Err(StoreError::Occupied(out.to_owned()));
    }
    let journal = fs::symlink_metadata(out.join(JOURNAL));
    let remains = [
        (JOURNAL, journal.is_ok_and(|journal| journal.len() > 0 || !journal.is_file())),
        (REVISITED, exists(&out.join(REVISITED))?),
        (FINDINGS, exists(&out.join(FINDINGS))? && !is_empty_folder(&out.join(FINDINGS))),
    ];
    match remains.into_iter().find(|(_, is_there)| *is_there) {
        Some((name, _)) => Err(StoreError::Remains(out.join(name))),
        None => Ok(()),
    }
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::file(path)(error)),
    }
}

fn is_empty_folder(path: &Path) -> bool {
    !path.is_symlink() && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether `directory` holds a run, complete or not.
pub fn has_run(directory: &Path) -> bool {
    directory.join(RUN).exists()
}

/// The path of the debug log in a run directory.
pub fn debug_log(directory: &Path) -> PathBuf {
    directory.join(DEBUG_LOG)
}

/// Creates a new run directory, the first of `runs/0001`, `runs/0002`, … that does not exist.
pub fn new_run_directory() -> Result<PathBuf, StoreError> {
    new_run_directory_in(Path::new("runs"))
}

/// Creates a new run directory in `parent`, the first of `0001`, `0002`, … that does not exist.
pub fn new_run_directory_in(parent: &Path) -> Result<PathBuf, StoreError> {
    let failed = |source: io::Error| StoreError::NoRunDirectory { parent: parent.to_owned(), source };
    fs::create_dir_all(parent).map_err(failed)?;
    for number in 1..=LAST {
        let directory = parent.join(format!("{number:04}"));
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(ErrorKind::AlreadyExists.into()))
}

const LAST: u32 = 9999;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn each_run_gets_its_own_directory() {
        let parent = tempfile::tempdir().unwrap();
        let runs = parent.path().join("runs");
        assert!(new_run_directory_in(&runs).unwrap().ends_with("0001"));
        assert!(new_run_directory_in(&runs).unwrap().ends_with("0002"));
    }

    #[test]
    fn claimed_directory_is_busy_until_it_is_given_up() {
        let out = tempfile::tempdir().unwrap();
        let claimed = RunDirectory::create(out.path()).unwrap();
        assert!(matches!(RunDirectory::create(out.path()), Err(StoreError::Busy(_))));
        let journal = claimed.journal().unwrap();
        drop(claimed);
        assert!(matches!(RunDirectory::create(out.path()), Err(StoreError::Busy(_))));
        drop(journal);
        RunDirectory::create(out.path()).unwrap();
    }

    #[test]
    fn run_without_its_journal_is_not_resumed() {
        let out = tempfile::tempdir().unwrap();
        fs::write(out.path().join(RUN), "{}").unwrap();
        let refused = RunDirectory::resume(out.path()).err().unwrap();
        assert!(matches!(refused, StoreError::Format { .. }), "{refused}");
        assert_eq!(names(out.path()), [RUN]);
    }

    #[test]
    fn run_that_did_not_start_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let (new, old) = (parent.path().join("new"), parent.path().join("old"));
        fs::create_dir(&old).unwrap();
        fs::write(old.join("notes"), "mine").unwrap();
        for out in [&new, &old] {
            RunDirectory::create(out).unwrap().discard_without_run();
        }
        assert_eq!(names(parent.path()), ["old"]);
        assert_eq!(names(&old), ["notes"]);
    }

    #[test]
    fn remains_of_a_run_are_refused_and_kept() {
        for (name, contents) in
            [("journal.jsonl", "{}\n"), ("revisited.jsonl", ""), ("findings/mine/notes", "mine")]
        {
            let out = tempfile::tempdir().unwrap();
            let path = out.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, contents).unwrap();
            let before = names(out.path());
            let refused = RunDirectory::create(out.path()).unwrap_err();
            assert!(matches!(refused, StoreError::Remains(_)), "{refused}");
            assert!(matches!(RunDirectory::resume(out.path()), Err(StoreError::NothingToResume(_))));
            assert_eq!(names(out.path()), before);
            assert_eq!(fs::read_to_string(path).unwrap(), contents);
        }
    }

    #[test]
    fn file_system_without_locks_is_refused() {
        let unsupported = TryLockError::Error(ErrorKind::Unsupported.into());
        let refused = held(Err(unsupported), Path::new("out/journal")).unwrap_err().to_string();
        assert!(refused.contains("file system with file locks"), "{refused}");
    }

    #[test]
    fn links_in_place_of_the_journal_are_refused() {
        let out = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), out.path().join(JOURNAL)).unwrap();
        assert!(RunDirectory::create(out.path()).is_err());
    }
}
