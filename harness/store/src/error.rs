use std::{fmt::Display, io, path::PathBuf};

use twinfer_case::OversizedCase;

/// Why a file or folder cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The run directory to resume holds a run with other settings or versions.
    #[error(
        "cannot resume {}, which began with other settings: {differences}: give the same options or leave them out, or give another --out",
        path.display()
    )]
    OtherRun {
        /// The run directory.
        path: PathBuf,
        /// What differs, in one line.
        differences: String,
    },
    /// The run to resume was merged from others.
    #[error("cannot resume {}, which was merged: resume its shards, and merge them again", .0.display())]
    Merged(PathBuf),
    /// The run to resume holds more cases than it is to end with.
    #[error(
        "cannot resume {} with {budget} cases, it holds {recorded}: give at least as many, or leave the number out",
        path.display()
    )]
    FewerCases {
        /// The run directory.
        path: PathBuf,
        /// The number of cases that was given.
        budget: u64,
        /// The number of cases that the run holds.
        recorded: u64,
    },
    /// There is no recording beside the folder of a case.
    #[error("there is no {0}, which says what ran the case: copy it along with the folder")]
    NoRecording(PathBuf),
    /// Another campaign is writing this journal.
    #[error("another campaign is writing {0}: wait until it ends, or give another --out")]
    Busy(PathBuf),
    /// The runs to merge are not different shards of one campaign.
    #[error(
        "cannot merge {} and {}: {reason}: give different shards of one campaign, with the same settings, backends and libraries",
        one.display(),
        other.display()
    )]
    OtherCampaign {
        /// The directory of one run.
        one: PathBuf,
        /// The directory of a run that is not another shard of the same campaign.
        other: PathBuf,
        /// What differs, in one line.
        reason: String,
    },
    /// The run to resume lacks cases before its last one.
    #[error(
        "cannot resume {}: too many cases before its last one are missing, as in a merge of some shards: resume the shards, and merge them again",
        .0.display()
    )]
    Gap(PathBuf),
    /// The folder holds no run that could be resumed.
    #[error("{} holds no run: start one without --resume, or give the directory of a run", .0.display())]
    NothingToResume(PathBuf),
    /// The directory for a new run holds a file or folder of a run, but no run.
    #[error("{} exists, but there is no run.json beside it: move it away, or give another --out", .0.display())]
    Remains(PathBuf),
    /// The file system of the run directory has no locks.
    #[error("cannot lock {}: {source}: give an --out on a file system with file locks", path.display())]
    NoLocks {
        /// The file to be locked.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Something that is not a finding of this run has the name of one.
    #[error("{} is not a finding of this run: move it out of the run directory, then resume with --resume", .0.display())]
    Obstructed(PathBuf),
    /// A folder is no folder of findings.
    #[error("{}: {reason}", folder.display())]
    NoFindings {
        /// The folder.
        folder: PathBuf,
        /// What it is instead, and what to give.
        reason: &'static str,
    },
    /// The journal of a run names findings whose folders are missing.
    #[error(
        "{} lacks findings that its journal names: {findings}: copy the whole run directory, or make it again: a campaign with `twinfer fuzz --resume`, another run with `merge` or `check`",
        run.display()
    )]
    LostFindings {
        /// The run directory.
        run: PathBuf,
        /// The first of them, and how many there are besides.
        findings: String,
    },
    /// The directory for a new run holds another run.
    #[error("{} already holds a run: give another --out or remove the folder; a campaign goes on with `twinfer fuzz --resume`", .0.display())]
    Occupied(PathBuf),
    /// The folder is not a run directory.
    #[error("cannot read {}: {source}: give the directory of a run, such as runs/0001", path.display())]
    NoRun {
        /// The file that is missing or unreadable.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A new run directory cannot be created.
    #[error("cannot create a run directory in {}: {source}: give another one with --out", parent.display())]
    NoRunDirectory {
        /// The folder in which it was to be created.
        parent: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A case cannot be encoded.
    #[error(transparent)]
    Case(#[from] OversizedCase),
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file in which a model has elements of its initializers cannot be read.
    #[error("cannot read {}, which has initializers of the model: {source}", path.display())]
    ExternalData {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or folder cannot be created, written or removed.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The contents of a file are not in the expected format.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// For `map_err`: the error that `path` cannot be written.
    pub(crate) fn writing(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Write { path, source }
    }

    /// For `map_err`: the error that `path` cannot be read.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }

    /// For `map_err`: the error that the contents of `path` are not in the expected format.
    pub(crate) fn format<E: Display>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |reason| Self::Format { path, reason: reason.to_string() }
    }
}
