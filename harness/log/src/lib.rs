//! The debug log of a run: which part of a campaign waits for which, what worker processes cost, and how the run ended.
//!
//! The supervisor and its worker processes append to one file, one line per event, each line in a single write. Events come from
//! the `tracing` macros; without [`DebugLog::start`] they cost next to nothing.
//!
//! ```
//! use twinfer_log::{DebugLog, LogLevel};
//!
//! let folder = tempfile::tempdir()?;
//! let log = DebugLog::new(&folder.path().join("debug.log"), LogLevel::Debug)?;
//! log.start()?;
//! tracing::debug!(target: "twinfer_example", variant = "ort:cpu", millis = 31, "worker started");
//! assert!(std::fs::read_to_string(folder.path().join("debug.log"))?.contains("variant=\"ort:cpu\" millis=31"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod level;

use std::{
    env,
    fs::{File, create_dir_all},
    io,
    path::{Path, PathBuf, absolute},
    process,
};

use tracing::{debug, error_span, level_filters::LevelFilter, span::EnteredSpan};
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, registry};

pub use level::{LogLevel, UnknownLogLevel};

/// The environment variable that names the file to which a worker appends.
const FILE_VARIABLE: &str = "TWINFER_LOG_FILE";
/// The environment variable that names the level of that file.
const LEVEL_VARIABLE: &str = "TWINFER_LOG_LEVEL";

/// The first part of the modules whose events are written: those of other crates are not.
const TARGET: &str = "twinfer";

/// A file to which the supervisor and its workers append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugLog {
    /// Absolute, because workers need not share the supervisor's current folder.
    file: PathBuf,
    level: LogLevel,
}

impl DebugLog {
    /// A log in `file`, which is created with its folder by [`start`](Self::start).
    pub fn new(file: &Path, level: LogLevel) -> io::Result<Self> {
        Ok(Self { file: absolute(file)?, level })
    }

    /// Writes the events of this process to the file from now on. A process can start one log; a second one has no
    /// effect.
    pub fn start(&self) -> io::Result<()> {
        if self.level != LogLevel::Off {
            self.file.parent().map_or(Ok(()), create_dir_all)?;
            File::options().append(true).create(true).open(&self.file)?;
        }
        self.append()
    }

    /// As [`start`](Self::start), for a file that exists.
    fn append(&self) -> io::Result<()> {
        let Some(level) = self.level.tracing() else { return Ok(()) };
        let file = File::options().append(true).open(&self.file)?;
        let lines = fmt::layer().with_ansi(false).log_internal_errors(false).with_writer(file);
        let only_ours = Targets::new().with_target(TARGET, level);
        let _ = tracing::subscriber::set_global_default(registry().with(only_ours).with(lines));
        Ok(())
    }

    /// The environment variables that let a worker [append](start_in_worker) to the same file; none if the level is
    /// [`LogLevel::Off`].
    pub fn environment(&self) -> Vec<(String, String)> {
        let Some(file) = self.file.to_str().filter(|_| self.level != LogLevel::Off) else {
            return Vec::new();
        };
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![variable(FILE_VARIABLE, file), variable(LEVEL_VARIABLE, &self.level.to_string())]
    }

    /// The file to which the log appends.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

/// Appends the events of this worker process to its supervisor's log, if the environment names one. Events carry the process id while the
/// result is held. A log that cannot be opened is left out: it must not end a worker. Nor does a worker create one: its supervisor
/// may be gone, and the file with it.
pub fn start_in_worker() -> Option<EnteredSpan> {
    let file = PathBuf::from(env::var_os(FILE_VARIABLE)?);
    let level = env::var(LEVEL_VARIABLE).ok()?.parse().ok()?;
    DebugLog { file, level }.append().ok()?;
    let span = error_span!("worker", pid = process::id()).entered();
    debug!("process began");
    Some(span)
}

impl LogLevel {
    /// The level as `tracing` knows it; `None` if nothing is logged.
    const fn tracing(self) -> Option<LevelFilter> {
        match self {
            Self::Off => None,
            Self::Error => Some(LevelFilter::ERROR),
            Self::Warn => Some(LevelFilter::WARN),
            Self::Info => Some(LevelFilter::INFO),
            Self::Debug => Some(LevelFilter::DEBUG),
            Self::Trace => Some(LevelFilter::TRACE),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn log_has_one_line_per_event_of_twinfer_at_its_level() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs/0001/debug.log");
        DebugLog::new(&file, LogLevel::Debug).unwrap().start().unwrap();
        debug!(reason = "two\nlines", case = 7, "worker lost");
        tracing::trace!("case sent");
        tracing::error!(target: "elsewhere", "from another crate");
        let text = fs::read_to_string(file).unwrap();
        let (time, event) = text.trim_end().split_once(' ').unwrap();
        assert!(time.starts_with("20") && time.ends_with('Z'), "{time} is not in UTC");
        assert_eq!(event.trim_start(), r#"DEBUG twinfer_log::tests: worker lost reason="two\nlines" case=7"#);
    }

    #[test]
    fn log_that_is_off_creates_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let log = DebugLog::new(&folder.path().join("debug.log"), LogLevel::Off).unwrap();
        log.start().unwrap();
        assert!(log.environment().is_empty() && !log.file().exists());
    }

    #[test]
    fn removed_log_is_not_created_by_a_worker() {
        let folder = tempfile::tempdir().unwrap();
        let log = DebugLog::new(&folder.path().join("runs/debug.log"), LogLevel::Debug).unwrap();
        assert!(log.append().is_err());
        assert!(!folder.path().join("runs").exists());
    }

    #[test]
    fn environment_names_file_and_level() {
        let log = DebugLog::new(Path::new("/runs/0001/debug.log"), LogLevel::Trace).unwrap();
        let values: Vec<_> = log.environment().into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, ["/runs/0001/debug.log", "trace"]);
    }
}
