use std::time::{Duration, Instant};

use tracing::debug;

/// A wait that is long enough to be logged.
const LONG_WAIT: Duration = Duration::from_millis(100);

/// Logs how long the case whose turn it is holds up those behind it, and what it waits for.
#[derive(Default)]
pub struct TurnWait(Option<Wait>);

struct Wait {
    case: u64,
    waits_for: &'static str,
    begun: Instant,
}

impl TurnWait {
    /// The case at this index cannot be recorded yet; a call with the same arguments changes nothing.
    pub fn begin(&mut self, case: u64, waits_for: &'static str) {
        if self.0.as_ref().is_none_or(|wait| (wait.case, wait.waits_for) != (case, waits_for)) {
            self.end();
            self.0 = Some(Wait { case, waits_for, begun: Instant::now() });
        }
    }

    /// A case is recorded, so that no case waits.
    pub fn end(&mut self) {
        let Some(Wait { case, waits_for, begun }) = self.0.take() else { return };
        let waited = begun.elapsed();
        if waited >= LONG_WAIT {
            debug!(case, waits_for, millis = waited.as_millis() as u64, "dispatcher waited");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_lasts_until_its_case_or_its_reason_changes() {
        let mut wait = TurnWait::default();
        let mut begun = |case, waits_for| {
            wait.begin(case, waits_for);
            wait.0.as_ref().map(|wait| wait.begun)
        };
        let first = begun(7, "escalation");
        assert_eq!(begun(7, "escalation"), first);
        let second = begun(7, "triage");
        assert!(second > first);
        assert!(begun(8, "triage") > second);
        wait.end();
        assert!(wait.0.is_none());
    }
}
