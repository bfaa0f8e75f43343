use std::{fmt::Display, io, path::PathBuf};

use twinfer_case::OversizedCase;

/// Why something on disk cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A run directory that is to be resumed holds another run.
    #[error(
        "cannot resume {0}: its seed, families, shard, ladder, backends or versions differ: give the same options, or another --out"
    )]
    OtherRun(PathBuf),
    /// Another campaign writes this journal.
    #[error("another campaign is writing {0}: wait until it ends, or give another --out")]
    Busy(PathBuf),
    /// Runs that are to be merged and are not shards of one campaign.
    #[error(
        "cannot merge {} and {}: give different shards of one campaign, with the same seed, families, ladder and backends",
        one.display(),
        other.display()
    )]
    OtherCampaign {
        /// One of the runs.
        one: PathBuf,
        /// Another.
        other: PathBuf,
    },
    /// A run directory that a new run cannot use.
    #[error("{} already holds a run: resume it with --resume, or give another --out", .0.display())]
    Occupied(PathBuf),
    /// A folder that is not a run directory.
    #[error("cannot read {}: {source}: give a run directory of `twinfer fuzz`", path.display())]
    NoRun {
        /// The file that is missing or unreadable.
        path: PathBuf,
        /// What the operating system reports.
        source: io::Error,
    },
    /// No new run directory can be created.
    #[error("cannot create a run directory in {}: {source}: give another one with --out", parent.display())]
    NoRunDirectory {
        /// The folder in which it was to be created.
        parent: PathBuf,
        /// What the operating system reports.
        source: io::Error,
    },
    /// A case that cannot be encoded.
    #[error(transparent)]
    Case(#[from] OversizedCase),
    /// A file or folder that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system reports.
        source: io::Error,
    },
    /// A file or folder that cannot be created, written or removed.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system reports.
        source: io::Error,
    },
    /// A file whose contents are not what they should be.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// For `map_err`: `path` cannot be written.
    pub(crate) fn writing(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Write { path, source }
    }

    /// For `map_err`: `path` cannot be read.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }

    /// For `map_err`: `path` holds something else than it should.
    pub(crate) fn format<E: Display>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |reason| Self::Format { path, reason: reason.to_string() }
    }
}
