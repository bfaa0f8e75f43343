use twinfer_case::{OversizedCase, OversizedRecipe};
use twinfer_onnx::InvalidTensor;
use twinfer_store::StoreError;
use twinfer_triage::TriageError;
use twinfer_workers::WorkerError;

/// Why a case cannot be run on its targets: wrong input, or a fault of the environment or of the harness; never a verdict
/// about a backend.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is nothing to compare golden with.
    #[error("no backend to compare with golden: add one to --backends, such as ort:cpu")]
    NoBackend,
    /// Two variants are one configuration.
    #[error(transparent)]
    SameConfiguration(#[from] twinfer_case::SameConfiguration),
    /// Golden does not know the model, and there is only one backend.
    #[error(
        "golden supports no part of the model ({unknown}): name two backends to compare with each other, such as ort:cpu,opt=off,ort:cpu,opt=all"
    )]
    NothingToCompareWith {
        /// Why golden does not support the model.
        unknown: String,
    },
    /// A file that is no ONNX model, or a model that golden does not support.
    #[error("{}: {reason}", path.display())]
    Model {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder without a finding.
    #[error("no finding in {}: give the folder of a finding, or of a run", .0.display())]
    NoFinding(std::path::PathBuf),
    /// The inputs of a model are too large to be generated.
    #[error("case {index}: {reason}")]
    Inputs {
        /// The place of the case among those of the model.
        index: usize,
        /// The tensor that is too large.
        reason: OversizedRecipe,
    },
    /// Golden does not say what the outputs of a case are; the text says why.
    #[error("golden computes no outputs: {0}")]
    NoReference(String),
    /// A case cannot be minimized.
    #[error(transparent)]
    Triage(#[from] TriageError),
    /// A worker cannot do its work.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The report of compute-sanitizer cannot be read.
    #[error(
        "cannot read the report of compute-sanitizer: {0}: see whether it supports the driver and the GPU"
    )]
    Sanitizer(std::io::Error),
    /// A case cannot be encoded.
    #[error(transparent)]
    Case(#[from] OversizedCase),
    /// An output of golden does not fit its type.
    #[error("cannot encode the output of golden: {0}")]
    Output(#[from] InvalidTensor),
}
