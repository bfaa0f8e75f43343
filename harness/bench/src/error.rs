use std::fmt::Display;

use serde::{Deserialize, Serialize};
use twinfer_backend::OpenError;
use twinfer_campaign::CampaignError;
use twinfer_case::{OversizedCase, Variant};
use twinfer_libraries::Error as LibraryError;
use twinfer_workers::WorkerError;

/// Why a benchmark could not be measured.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum BenchError {
    /// The campaign did not run.
    Campaign(#[from] CampaignError),
    /// A worker did not start or was lost.
    Worker(#[from] WorkerError),
    /// The library of ONNX Runtime is not installed.
    Library(#[from] LibraryError),
    /// A generated case is too large.
    Case(#[from] OversizedCase),
    /// Anything else, possibly in another process.
    Fault(#[from] Fault),
}

/// A failure as one process reports it to another: one line that says what failed and on what.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Fault {
    /// The user's request cannot be fulfilled.
    #[error("{0}")]
    Usage(String),
    /// The machine or the harness failed.
    #[error("{0}")]
    Environment(String),
}

impl Fault {
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::Usage(message.to_string())
    }

    pub(crate) fn environment(message: impl Display) -> Self {
        Self::Environment(message.to_string())
    }

    /// The backend of `variant` does not open.
    pub(crate) fn opening(variant: &Variant, error: &OpenError) -> Self {
        let message = format!("{variant}: {error}");
        match error {
            OpenError::Option(_) => Self::Usage(message),
            _ => Self::Environment(message),
        }
    }
}
