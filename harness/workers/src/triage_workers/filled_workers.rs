use std::sync::OnceLock;

use crate::turns::WorkersInTurn;

/// Workers with memory filled with one pattern.
#[derive(Default)]
pub(super) struct FilledWorkers {
    /// Set once none starts although one starts without a filling.
    pub(super) are_refused: OnceLock<()>,
    /// Workers that have run cases.
    pub(super) warm: WorkersInTurn,
}
