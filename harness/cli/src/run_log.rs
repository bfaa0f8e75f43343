use std::{fs, path::Path};

use twinfer_log::{DebugLog, LogLevel};
use twinfer_store::{debug_log, has_run, new_run_directory};
use twinfer_workers::WorkerCommand;

use crate::{Failure, output::note};

/// The debug log of a run directory.
pub struct RunLog {
    log: DebugLog,
    /// Whether the log's file, and its folder, existed before.
    existed: (bool, bool),
}

impl RunLog {
    /// Starts to log into a run directory, which is created if it does not exist.
    pub fn start(directory: &Path, level: LogLevel) -> Result<Self, Failure> {
        let file = debug_log(directory);
        let existed = (file.exists(), directory.exists());
        let failed = |error| Failure::environment(format!("cannot write {}: {error}", file.display()));
        let log = DebugLog::new(&file, level).map_err(failed)?;
        log.start().map_err(failed)?;
        Ok(Self { log, existed })
    }

    /// Starts to log if a `level` is given, into `directory`, or into a new run directory, whose path is printed.
    pub fn start_if_requested(
        level: Option<LogLevel>,
        directory: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        let Some(level) = level.filter(|level| *level != LogLevel::Off) else { return Ok(None) };
        let log = match directory {
            Some(directory) => Self::start(directory, level)?,
            None => Self::start(&new_run_directory()?, level)?,
        };
        note!("debug log: {}", log.log.file().display());
        Ok(Some(log))
    }

    /// Lets the workers that `command` starts append to the log.
    pub fn extend_to(&self, command: &mut WorkerCommand) {
        command.env.extend(self.log.environment());
    }

    /// The run directory.
    pub fn directory(&self) -> &Path {
        self.log.file().parent().unwrap_or(Path::new("."))
    }

    /// Removes a new log, and its folder if that is new, unless a run was started there.
    pub fn discard_without_run(&self) {
        let (file, directory) = (self.log.file(), self.directory());
        if has_run(directory) {
            return;
        }
        let (file_existed, directory_existed) = self.existed;
        if !file_existed {
            let _ = fs::remove_file(file);
        }
        if !directory_existed {
            // a folder that holds other files stays
            let _ = fs::remove_dir(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_without_run_is_removed_with_its_new_folder() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("0001");
        RunLog::start(&directory, LogLevel::Debug).unwrap().discard_without_run();
        assert!(!directory.exists());
    }

    #[test]
    fn earlier_log_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = debug_log(directory.path());
        fs::write(&file, "an earlier line").unwrap();
        RunLog::start(directory.path(), LogLevel::Debug).unwrap().discard_without_run();
        assert!(fs::read_to_string(file).unwrap().starts_with("an earlier line"));
    }
}
