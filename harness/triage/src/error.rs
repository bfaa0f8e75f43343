use twinfer_case::OversizedCase;
use twinfer_onnx::InvalidTensor;
use twinfer_store::StoreError;
use twinfer_workers::WorkerError;

/// Why a divergence cannot be triaged: a fault of the environment or of the harness, never a verdict about a backend.
#[derive(Debug, thiserror::Error)]
pub enum TriageError {
    /// A worker cannot do its work.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A case cannot be encoded.
    #[error(transparent)]
    Case(#[from] OversizedCase),
    /// An output of golden does not fit its type.
    #[error("cannot encode the output of golden: {0}")]
    Output(#[from] InvalidTensor),
    /// A thread of the supervisor failed.
    #[error("twinfer failed: {0}")]
    Supervisor(String),
}
