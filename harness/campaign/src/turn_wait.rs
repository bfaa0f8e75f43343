use std::time::{Duration, Instant};

use tracing::debug;

/// A wait that is long enough to be logged.
const LONG_WAIT: Duration = Duration::from_millis(100);

/// Logs how long the case that is to be decided next waits for an investigation.
#[derive(Default)]
pub struct TurnWait(Option<Wait>);

struct Wait {
    case: u64,
    begun: Instant,
}

impl TurnWait {
    /// The case at this index cannot be decided yet; another call for it changes nothing.
    pub fn begin(&mut self, case: u64) {
        if self.0.as_ref().is_none_or(|wait| wait.case != case) {
            self.end();
            self.0 = Some(Wait { case, begun: Instant::now() });
        }
    }

    /// A case is decided, so that none waits.
    pub fn end(&mut self) {
        let Some(Wait { case, begun }) = self.0.take() else { return };
        let waited = begun.elapsed();
        if waited >= LONG_WAIT {
            debug!(case, millis = waited.as_millis() as u64, "decision waited");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_lasts_until_its_case_changes() {
        let mut wait = TurnWait::default();
        let mut begun = |case| {
            wait.begin(case);
            wait.0.as_ref().map(|wait| wait.begun)
        };
        let first = begun(7);
        assert_eq!(begun(7), first);
        assert!(begun(8) > first);
        wait.end();
        assert!(wait.0.is_none());
    }
}
