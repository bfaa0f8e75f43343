//! How many of the cores that this process may use are idle, as Linux reports it.

use std::{fs, mem, num::NonZero, thread};

use rustix::thread::{CpuSet, sched_getaffinity};

/// Samples `/proc/stat` (`proc_stat(5)`) and averages between samples.
pub struct IdleCores {
    allowed: CpuSet,
    last: Ticks,
}

/// Clock ticks since boot, summed over the cores that this process may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ticks {
    idle: u64,
    /// Idle or busy.
    all: u64,
    cores: usize,
}

impl IdleCores {
    /// Takes the first sample. `None` if the system does not report its ticks, or a control group limits this process to
    /// fewer cores than it is allowed to run on: idle cores are then not necessarily usable ones.
    pub fn watch() -> Option<Self> {
        let allowed = sched_getaffinity(None).ok()?;
        let usable = thread::available_parallelism().map_or(1, NonZero::get);
        let last = Ticks::now(&allowed)?;
        (usable >= last.cores).then_some(Self { allowed, last })
    }

    /// The average number of idle cores since the last sample, and the number of all cores. `None` if no time has passed.
    pub fn since_last(&mut self) -> Option<(f64, usize)> {
        let now = Ticks::now(&self.allowed)?;
        let last = mem::replace(&mut self.last, now);
        let (idle, all) = (now.idle.checked_sub(last.idle)?, now.all.checked_sub(last.all)?);
        (all > 0).then(|| (idle as f64 / all as f64 * now.cores as f64, now.cores))
    }
}

impl Ticks {
    fn now(allowed: &CpuSet) -> Option<Self> {
        let ticks = Self::parse(&fs::read_to_string("/proc/stat").ok()?, |core| allowed.is_set(core));
        (ticks.cores > 0).then_some(ticks)
    }

    /// Sums the lines of the cores that are allowed.
    fn parse(text: &str, is_allowed: impl Fn(usize) -> bool) -> Self {
        let parse_core = |line: &str| {
            let (core, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
            let core = core.parse().ok()?;
            if core >= CpuSet::MAX_CPU || !is_allowed(core) {
                return None;
            }
            // user, nice, system, idle, iowait, irq, softirq, steal; the rest is part of the first two
            let ticks: Vec<u64> = ticks.split(' ').take(8).map_while(|ticks| ticks.parse().ok()).collect();
            let idle = ticks.get(3)? + ticks.get(4)?;
            Some((idle, ticks.iter().sum::<u64>()))
        };
        text.lines().filter_map(parse_core).fold(Self::default(), |sum, (idle, all)| Self {
            idle: sum.idle + idle,
            all: sum.all + all,
            cores: sum.cores + 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const TEXT: &str = "cpu  30 0 30 300 30 0 0 0 0 0\ncpu0 10 1 5 100 20 0 2 3 9 9\ncpu1 7 0 0 60 0 0 0 0 0 0\n\
                        cpu1023 1 0 0 1 0 0 0 0 0 0\ncpu99999 1 0 0 9 0 0 0 0 0 0\nintr 5 6\n";

    #[test]
    fn cores_that_are_not_allowed_do_not_count() {
        assert_eq!(Ticks::parse(TEXT, |core| core < 2), Ticks { idle: 180, all: 208, cores: 2 });
        assert_eq!(Ticks::parse(TEXT, |core| core == 1), Ticks { idle: 60, all: 67, cores: 1 });
        assert_eq!(Ticks::parse(TEXT, |_| true).cores, 3, "no core has a number this large");
        assert_eq!(Ticks::parse("cpu0 1 2\ncpux 3\n", |_| true), Ticks::default());
    }

    #[test]
    fn idle_cores_of_this_machine_are_at_most_all() {
        let Some(mut cores) = IdleCores::watch() else { return };
        let sample = (0..100).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            cores.since_last()
        });
        let Some((idle, all)) = sample else { return };
        assert!((0.0..=all as f64).contains(&idle) && all > 0, "{idle} of {all}");
    }
}
