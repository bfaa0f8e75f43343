use std::time::{Duration, Instant};

use twinfer_case::ProcessorUse;

/// The share of the workers' processor time from which on no investigation starts. Those that are under way when time is up go on without cases
/// beside them, so that the whole takes a little more: 24.3% in a campaign of eight minutes on a GPU.
const SHARE: f64 = 0.24;

/// How long investigations could take that share of all processors before anything else has run: the first findings are worth more than later
/// cases. They give this back by the time that the budget is spent.
const ADVANCE: Duration = Duration::from_mins(1);

/// Rungs count up to this share, so that a long ladder leaves investigations something.
const RUNGS: f64 = 0.1;

/// The share of all processors that counts as used at least: where workers leave most of them idle, investigations take nothing from cases.
const LEAST_USED: f64 = 0.5;

/// The part of its time that an investigation under way has still to take, on average.
const REST: f64 = 0.5;

/// Keeps investigations within their share of the processor time, so that with many findings most of a budget of time is left to cases.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorShare {
    started: Instant,
    budget: Duration,
    cores: usize,
    /// Whether investigations may take any share for now.
    pub is_lifted: bool,
}

impl ProcessorShare {
    /// For a campaign that starts now, on so many processors.
    pub fn new(budget: Duration, cores: usize) -> Self {
        Self { started: Instant::now(), budget, cores, is_lifted: false }
    }

    /// Whether another investigation may start beside those `under_way`, after so many were `begun` and workers have `used` this.
    pub fn admits(&self, used: ProcessorUse, begun: u64, under_way: usize) -> bool {
        self.is_lifted || self.admits_after(self.started.elapsed(), used, begun, under_way)
    }

    fn admits_after(&self, elapsed: Duration, used: ProcessorUse, begun: u64, under_way: usize) -> bool {
        let until_end = 1.0 - elapsed.as_secs_f64() / self.budget.as_secs_f64().max(1e-3);
        let advance = until_end.max(0.0) * self.cores as f64 * ADVANCE.as_millis() as f64;
        let least = LEAST_USED * self.cores as f64 * elapsed.as_millis() as f64;
        let total = least.max(used.total_millis() as f64);
        let investigations = used.investigations_millis as f64;
        let promised = REST * under_way as f64 * investigations / begun.max(1) as f64;
        let rungs = (RUNGS * total).min(used.rungs_millis as f64);
        investigations + promised + rungs <= SHARE * (total + advance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Duration = Duration::from_mins(8);
    const CORES: usize = 16;

    /// How long an investigation takes, in seconds, on a core of its own.
    const LENGTH: u64 = 30;

    /// A campaign in which there is always something to investigate, and eight investigations may be under way.
    struct Simulated {
        used: ProcessorUse,
        /// By second: how many are under way.
        under_way: Vec<usize>,
    }

    fn simulated(length: u64) -> Simulated {
        let share = ProcessorShare::new(BUDGET, CORES);
        let (mut used, mut begun) = (ProcessorUse::default(), 0);
        let (mut ends, mut under_way): (Vec<u64>, Vec<usize>) = (Vec::new(), Vec::new());
        for second in 0..BUDGET.as_secs() {
            ends.retain(|end| *end > second);
            let elapsed = Duration::from_secs(second);
            while ends.len() < 8 && share.admits_after(elapsed, used, begun, ends.len()) {
                begun += 1;
                ends.push(second + length);
            }
            let (investigating, cores) = (ends.len() as u64, CORES as u64);
            used = used
                + ProcessorUse {
                    cases_millis: (cores - investigating) * 1000,
                    investigations_millis: investigating * 1000,
                    rungs_millis: 0,
                };
            under_way.push(ends.len());
        }
        Simulated { used, under_way }
    }

    #[test]
    fn investigations_use_up_their_share_and_no_more() {
        for length in [5, LENGTH, 3 * LENGTH] {
            let share = simulated(length).used.share_beside_cases();
            assert!((0.22..0.245).contains(&share), "{length} s each: {share}");
        }
    }

    #[test]
    fn investigations_go_on_all_the_time() {
        let Simulated { under_way, .. } = simulated(LENGTH);
        let idle = under_way.iter().filter(|number| **number == 0).count();
        assert!(idle < 20, "none was under way for {idle} s");
        let first = &under_way[..usize::try_from(LENGTH).unwrap()];
        assert!(first.iter().all(|number| *number == 8), "the first findings do not wait for cases");
    }

    #[test]
    fn short_budget_leaves_investigations_alone() {
        let budget = Duration::from_secs(10);
        let share = ProcessorShare::new(budget, 2);
        let half = ProcessorUse { cases_millis: 5000, investigations_millis: 5000, rungs_millis: 0 };
        assert!(share.admits_after(budget / 2, half, 3, 1));
    }

    #[test]
    fn rungs_leave_investigations_a_part() {
        let share = ProcessorShare::new(BUDGET, CORES);
        let used = |investigations_millis, rungs_millis| ProcessorUse {
            cases_millis: 1_000_000 * CORES as u64,
            investigations_millis,
            rungs_millis,
        };
        let admits = |used| share.admits_after(BUDGET, used, 1, 0);
        assert!(admits(used(0, 1_000_000 * CORES as u64)), "half of the time went to rungs");
        assert!(admits(used(3_000_000, 500_000)) && !admits(used(4_000_000, 3_000_000)));
    }

    #[test]
    fn idle_processors_do_not_make_investigations_wait() {
        let share = ProcessorShare::new(BUDGET, 64);
        let used = ProcessorUse { cases_millis: 480_000, investigations_millis: 480_000, rungs_millis: 0 };
        assert!(share.admits_after(BUDGET, used, 1, 0), "two of 64 processors are busy");
    }
}
