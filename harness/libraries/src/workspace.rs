use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;

use crate::{Error, Store};

/// A folder in the store in which an installation is prepared. It is removed when this is dropped, and by the next installation if
/// the process was killed.
pub(crate) struct Workspace {
    // dropped first, so that the folder is gone before the lock is
    folder: TempDir,
    _lock: File,
}

const PREFIX: &str = ".installing-";
/// The file in a workspace that its process keeps locked.
const LOCK: &str = "lock";
/// The age from which a workspace without a lock counts as left behind: earlier versions wrote none.
const ABANDONED: Duration = Duration::from_hours(24);

impl Workspace {
    /// Removes the workspaces of processes that were killed, and makes a new one.
    pub(crate) fn new(store: &Store) -> Result<Self, Error> {
        let root = store.root();
        // no other process is between making its workspace and locking it
        let _turn = locked(&root.join(".workspaces.lock"))?;
        remove_abandoned(root)?;
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(root)
            .map_err(Error::io("write into", root))?;
        let lock = locked(&folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn locked(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::io("create", path))?;
    file.lock().map_err(Error::io("lock", path))?;
    Ok(file)
}

fn remove_abandoned(root: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(root).map_err(Error::io("read", root))?;
    let abandoned = entries.flatten().map(|entry| entry.path()).filter(is_abandoned);
    // another installation may go on although one folder cannot be removed
    abandoned.for_each(|path| drop(fs::remove_dir_all(path)));
    Ok(())
}

/// Whether a path is a workspace that no process holds.
fn is_abandoned(path: &PathBuf) -> bool {
    let is_workspace = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let Some(found) = fs::symlink_metadata(path).ok().filter(|found| is_workspace && found.is_dir()) else {
        return false;
    };
    match File::open(path.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(_) => found.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED)),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        process::{Command, Stdio},
        time::{Duration, SystemTime},
    };

    use super::*;

    fn workspaces(store: &Store) -> Vec<PathBuf> {
        let entries = fs::read_dir(store.root()).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(PREFIX)).collect()
    }

    #[test]
    fn workspace_in_use_is_kept_and_removed_at_its_end() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let one = Workspace::new(&store).unwrap();
        let two = Workspace::new(&store).unwrap();
        assert!(one.path().exists() && two.path().exists());
        drop((one, two));
        assert!(workspaces(&store).is_empty());
    }

    #[test]
    fn workspace_of_a_killed_process_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        // as a process that was killed leaves it: the lock is there and nobody holds it
        let left = home.path().join(".installing-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        fs::write(left.join("half.so"), "half").unwrap();
        let _new = Workspace::new(&store).unwrap();
        assert!(!left.exists());
    }

    #[test]
    fn workspace_without_lock_is_removed_after_a_day() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let (old, new) = (home.path().join(".installing-old"), home.path().join(".installing-new"));
        fs::create_dir(&old).unwrap();
        fs::create_dir(&new).unwrap();
        File::open(&old).unwrap().set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        let _new = Workspace::new(&store).unwrap();
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn only_folders_of_installations_are_removed() {
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = Store::at(home.path());
        fs::write(elsewhere.path().join(LOCK), "").unwrap();
        let link = home.path().join(".installing-link");
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        fs::create_dir(home.path().join("installing-mine")).unwrap();
        fs::write(home.path().join("installing-mine").join(LOCK), "").unwrap();
        let _new = Workspace::new(&store).unwrap();
        assert!(elsewhere.path().join(LOCK).exists() && home.path().join("installing-mine").exists());
    }

    /// Another process holds the workspace, and then is killed.
    #[test]
    fn lock_of_another_process_ends_with_it() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let left = home.path().join(".installing-other");
        fs::create_dir(&left).unwrap();
        let lock = left.join(LOCK);
        fs::write(&lock, "").unwrap();
        let script = r#"exec 9>"$0"; flock 9; exec sleep 60"#;
        let mut holder =
            Command::new("sh").args(["-c", script]).arg(&lock).stdout(Stdio::null()).spawn().unwrap();
        while File::open(&lock).unwrap().try_lock().is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(Workspace::new(&store).unwrap());
        assert!(left.exists());
        holder.kill().unwrap();
        holder.wait().unwrap();
        drop(Workspace::new(&store).unwrap());
        assert!(!left.exists());
    }
}
