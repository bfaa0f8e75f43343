use std::{io, path::PathBuf};

use twinfer_case::{RecordsError, Variant};
use twinfer_protocol::{Fault, FaultCause};

use crate::worker::Loss;

/// Why a campaign, or a step of one, cannot go on: wrong input, or a fault of the environment or of the harness.
///
/// Never a verdict about a backend.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A worker does not start, or reports that it cannot do its work.
    #[error("worker of {variant}: {reason}")]
    Worker {
        /// Which variant.
        variant: Variant,
        /// What it said, or how it ended.
        reason: String,
    },
    /// Its worker reports that its backend does not take its options.
    #[error("{variant}: {reason}")]
    Variant {
        /// Which variant.
        variant: Variant,
        /// What the worker said.
        reason: String,
    },
    /// Cases are to climb and there is nothing above them.
    #[error(
        "no backend has a rung above it: begin lower, such as with trt,level=0 or ort:cpu,opt=off, or leave the ladder out"
    )]
    NoRung,
    /// There is nothing to compare golden with.
    #[error("no backend to test: name at least one besides golden, such as ort:cpu")]
    NoBackend,
    /// Golden does not know the model, and there is one backend only.
    #[error(
        "{unknown}, so golden cannot judge it: name two backends to compare, such as ort:cpu,opt=off,ort:cpu,opt=all"
    )]
    NothingToCompareWith {
        /// Why golden does not know it.
        unknown: String,
    },
    /// A generator of this name does not exist.
    #[error("unknown family {name:?}: it is one of {known}")]
    UnknownFamily {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A run directory that is to be gone on with holds another run.
    #[error(
        "{0} is of a run with another seed, families, shard, ladder, backends or versions: start a new one"
    )]
    OtherRun(PathBuf),
    /// A journal that another campaign writes.
    #[error("another campaign is writing {0}: wait for its end, or give another --out")]
    Busy(PathBuf),
    /// Runs that are to be merged and are not shards of one campaign.
    #[error(
        "{} and {} are not different shards of one campaign: give runs with the same seed, families, ladder, backends and n",
        one.display(),
        other.display()
    )]
    OtherCampaign {
        /// One of the runs.
        one: PathBuf,
        /// Another.
        other: PathBuf,
    },
    /// A generated case that cannot be made.
    #[error("case {index} of family {family}: {reason}")]
    Case {
        /// Its place in the campaign.
        index: u64,
        /// Its generator.
        family: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file or folder that cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// Which one.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file or folder that cannot be made, written or removed.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Which one.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file that is not what it should be.
    #[error("{path}: {reason}")]
    Format {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The supervisor's own threads failed.
    #[error("the supervisor failed: {0}")]
    Supervisor(String),
}

impl CampaignError {
    /// The worker of `variant` is lost and no other can replace it.
    pub(crate) fn of_loss(variant: &Variant, loss: &Loss) -> Self {
        let (variant, reason) = (variant.clone(), loss.to_string());
        match loss {
            Loss::Fault(Fault { cause: FaultCause::Variant, .. }) => Self::Variant { variant, reason },
            _ => Self::Worker { variant, reason },
        }
    }

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

    /// For `map_err`: contents of `path` that make no sense.
    pub(crate) fn format<E: std::fmt::Display>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |reason| Self::Format { path, reason: reason.to_string() }
    }
}

impl From<RecordsError> for CampaignError {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Io { path, source } => Self::File { path, source },
            RecordsError::Format { path, reason } => Self::Format { path, reason },
        }
    }
}
