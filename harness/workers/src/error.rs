use std::time::Duration;

use twinfer_case::Variant;
use twinfer_protocol::{Fault, FaultCause};

use crate::loss::Loss;

/// Why a worker cannot do its work: a fault of the environment or of the harness, never a verdict about a backend.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A worker does not start, or reports that it cannot continue.
    #[error("worker of {variant}: {reason}")]
    Worker {
        /// The variant that the worker serves.
        variant: Variant,
        /// The worker's report, or how its process ended.
        reason: String,
    },
    /// A worker reports that its backend does not accept the variant's options.
    #[error("{variant}: {reason}")]
    Variant {
        /// The variant with those options.
        variant: Variant,
        /// The worker's report.
        reason: String,
    },
    /// A worker does not start because its device serves no further process until another one ends.
    #[error("worker of {variant}: {reason}")]
    FullDevice {
        /// The variant that the worker serves.
        variant: Variant,
        /// The worker's report.
        reason: String,
    },
    /// A thread of the supervisor failed.
    #[error("twinfer failed: {0}")]
    Supervisor(String),
}

impl WorkerError {
    /// The worker of `variant` does not start, for which it has `time`.
    pub(crate) fn of_start(variant: &Variant, loss: &Loss, time: Duration) -> Self {
        match loss {
            Loss::TimedOut => Self::Worker {
                variant: variant.clone(),
                reason: format!(
                    "did not start within {} s; --deadline start=TIME sets the limit",
                    time.as_secs()
                ),
            },
            _ => Self::of_loss(variant, loss),
        }
    }

    /// The worker of `variant` is lost and another one cannot replace it.
    pub(crate) fn of_loss(variant: &Variant, loss: &Loss) -> Self {
        let (variant, reason) = (variant.clone(), loss.to_string());
        match loss {
            Loss::Fault(Fault { cause: FaultCause::Variant, .. }) => Self::Variant { variant, reason },
            Loss::Fault(Fault { cause: FaultCause::FullDevice, .. }) => Self::FullDevice { variant, reason },
            _ => Self::Worker { variant, reason },
        }
    }
}
