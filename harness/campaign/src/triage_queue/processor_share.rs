use std::time::{Duration, Instant};

use twinfer_case::ProcessorUse;

/// The share of the workers' processor time that investigations and rungs may take.
const SHARE: f64 = 0.25;

/// How long investigations could take that share of all processors before anything else has run: the first findings are worth more than later
/// cases. They give this back by the time that the budget is spent.
const ADVANCE: Duration = Duration::from_mins(1);

/// Keeps investigations within their share of the processor time, so that with many findings most of a budget of time is left to cases.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorShare {
    started: Instant,
    budget: Duration,
    cores: usize,
}

impl ProcessorShare {
    /// For a campaign that starts now, on so many processors.
    pub fn new(budget: Duration, cores: usize) -> Self {
        Self { started: Instant::now(), budget, cores }
    }

    /// Whether another investigation may start after workers have `used` this.
    pub fn admits(&self, used: ProcessorUse) -> bool {
        self.admits_after(self.started.elapsed(), used)
    }

    fn admits_after(&self, elapsed: Duration, used: ProcessorUse) -> bool {
        let rest = 1.0 - elapsed.as_secs_f64() / self.budget.as_secs_f64().max(1e-3);
        let advance = rest.max(0.0) * self.cores as f64 * ADVANCE.as_millis() as f64;
        used.investigations_millis as f64 <= SHARE * (used.total_millis() as f64 + advance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Duration = Duration::from_mins(8);
    const CORES: usize = 16;

    /// How many seconds of processor time investigations take in a campaign in which there is always something to investigate, and all workers.
    fn taken() -> (u64, u64) {
        let share = ProcessorShare::new(BUDGET, CORES);
        let mut used = ProcessorUse::default();
        for second in 0..BUDGET.as_secs() {
            let investigating = if share.admits_after(Duration::from_secs(second), used) { 12 } else { 0 };
            used = used
                + ProcessorUse {
                    cases_millis: (CORES as u64 - investigating) * 1000,
                    investigations_millis: investigating * 1000,
                };
        }
        (used.investigations_millis / 1000, used.total_millis() / 1000)
    }

    #[test]
    fn investigations_use_up_their_share_and_no_more() {
        let (investigations, all) = taken();
        assert!(4 * investigations <= all + 4 * 12, "{investigations} of {all} s");
        assert!(4 * investigations >= all - 4 * 24, "{investigations} of {all} s");
    }

    #[test]
    fn first_investigations_do_not_wait_for_cases() {
        let share = ProcessorShare::new(BUDGET, CORES);
        let used = |seconds: u64| ProcessorUse { cases_millis: 0, investigations_millis: 1000 * seconds };
        assert!(share.admits_after(Duration::from_secs(15), used(15 * CORES as u64)));
        assert!(!share.admits_after(Duration::from_mins(1), used(60 * CORES as u64)));
        assert!(!share.admits_after(BUDGET, used(1)));
    }

    #[test]
    fn short_budget_leaves_investigations_alone() {
        let budget = Duration::from_secs(10);
        let share = ProcessorShare::new(budget, 2);
        let half = ProcessorUse { cases_millis: 5000, investigations_millis: 5000 };
        assert!(share.admits_after(budget / 2, half));
    }
}
