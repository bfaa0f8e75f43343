use std::sync::{Arc, OnceLock};

use crate::{device_pools::DevicePools, turns::WorkersInTurn};

/// Workers with memory filled with one pattern.
#[derive(Default)]
pub(super) struct FilledWorkers {
    /// Set once a worker is needed.
    pub(super) pools: OnceLock<Arc<DevicePools>>,
    /// Set once none starts although one starts without a filling.
    pub(super) are_refused: OnceLock<()>,
    /// Workers that have run cases.
    pub(super) warm: WorkersInTurn,
}
