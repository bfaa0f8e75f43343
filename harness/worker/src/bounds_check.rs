use twinfer_case::{OutOfBoundsWrite, Stage};
use twinfer_driver_cache::take_out_of_bounds_writes;

/// Collects the writes out of bounds that each stage of a case leaves behind.
#[derive(Default)]
pub struct BoundsCheck {
    /// The stage under way; `None` before the first.
    stage: Option<Stage>,
    found: Vec<OutOfBoundsWrite>,
}

impl BoundsCheck {
    /// The backend enters a stage, so the one before has ended.
    pub fn enter(&mut self, stage: Stage) {
        self.collect();
        self.stage = Some(stage);
    }

    /// The backend has ended; what its stages left behind, in order.
    pub fn finish(mut self) -> Vec<OutOfBoundsWrite> {
        self.collect();
        self.found
    }

    fn collect(&mut self) {
        self.found.extend(take_out_of_bounds_writes(self.stage.unwrap_or(Stage::Start)));
    }
}
