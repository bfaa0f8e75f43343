use twinfer_case::{OversizedCase, SameConfiguration, Variant};
use twinfer_store::StoreError;
use twinfer_triage::TriageError;
use twinfer_workers::WorkerError;

/// Why a campaign cannot go on: wrong input, or a fault of the environment or of the harness. Never a verdict about a backend.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A ladder is asked for, and no backend states stronger options than those of its variant.
    #[error(
        "none of the backends has a higher optimization level: start lower, such as trt,level=0 or ort:cpu,opt=off, or leave --ladder out"
    )]
    NoRung,
    /// There is nothing to compare golden with.
    #[error("no backend to compare with golden: add one to --backends, such as ort:cpu")]
    NoBackend,
    /// Two variants are one configuration.
    #[error(transparent)]
    SameConfiguration(#[from] SameConfiguration),
    /// A generator of this name does not exist.
    #[error("unknown family {name:?}: use one of {known}")]
    UnknownFamily {
        /// What was asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// A file of a library is not the one that was installed, or cannot be read.
    #[error("{0}")]
    Library(String),
    /// A divergence cannot be triaged.
    #[error(transparent)]
    Triage(#[from] TriageError),
    /// Every device of a variant was given up after the campaign had started.
    #[error("{variant} has no device left: {error}")]
    NoDeviceLeft {
        /// The variant.
        variant: Variant,
        /// What happened on the last device.
        error: Box<CampaignError>,
    },
    /// A worker cannot do its work.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// Something on disk cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A case cannot be encoded.
    #[error(transparent)]
    Case(#[from] OversizedCase),
    /// A thread of the supervisor failed.
    #[error("twinfer failed: {0}")]
    Supervisor(String),
}
