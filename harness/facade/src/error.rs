use twinfer_case::InvalidVariant;
use twinfer_targets::TargetError;

/// The error of backends that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text does not name a variant.
    #[error(transparent)]
    Variant(#[from] InvalidVariant),
    /// A library is not installed, or is damaged.
    #[error(transparent)]
    Library(#[from] twinfer_libraries::Error),
    /// There is no program to run as a worker.
    #[error(
        "no worker: call twinfer::become_worker_if_asked() first in main, set TWINFER_PROGRAM, or put twinfer beside the tests"
    )]
    NoProgram,
    /// A variant was compared on none of the cases that were checked; the text says why, one line per cause.
    #[error("nothing was compared:\n{0}")]
    NothingCompared(String),
    /// A worker failed.
    #[error(transparent)]
    Target(#[from] TargetError),
}
