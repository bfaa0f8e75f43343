//! *Stage times*: how long the stages of a variant's cases took, from which follows how long one may take before its worker is suspected to
//! hang.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use twinfer_case::Stage;

/// A stage is known once it was measured this many times.
const ENOUGH: u64 = 512;
/// One time in this many does not count: a device stops its workers now and then.
const OUTLIERS: u64 = 1024;
/// How many times as long as all but the outliers a stage may take.
const FACTOR: u32 = 8;
/// Times are counted by their binary logarithm in milliseconds, up to about a quarter of an hour.
const BUCKETS: usize = 20;

/// How often each stage took how long, with one variant.
#[derive(Default)]
pub struct StageTimes([Histogram; 5]);

/// How many times were below each power of two of milliseconds, and not below the one before.
#[derive(Default)]
struct Histogram([AtomicU64; BUCKETS]);

impl StageTimes {
    /// Counts a stage that took this long.
    pub fn record(&self, stage: Stage, time: Duration) {
        self.0[place(stage)].record(time);
    }

    /// How long a stage may take before its worker is suspected, at least `least`; `None` before enough is known.
    pub fn patience(&self, stage: Stage, least: Duration) -> Option<Duration> {
        Some(self.0[place(stage)].usual()?.saturating_mul(FACTOR).max(least))
    }
}

impl Histogram {
    fn record(&self, time: Duration) {
        let bucket = bits(time.as_millis()).min(BUCKETS - 1);
        self.0[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// The time below which all but the outliers stayed.
    fn usual(&self) -> Option<Duration> {
        let counts = self.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        let all: u64 = counts.iter().sum();
        let mut longer = 0;
        let usual = counts.iter().rposition(|count| {
            longer += count;
            longer > all / OUTLIERS
        });
        usual.filter(|_| all >= ENOUGH).map(|bucket| Duration::from_millis(1 << bucket))
    }
}

/// How many bits a number takes.
const fn bits(number: u128) -> usize {
    (u128::BITS - number.leading_zeros()) as usize
}

const fn place(stage: Stage) -> usize {
    match stage {
        Stage::Start => 0,
        Stage::Load => 1,
        Stage::Parse => 2,
        Stage::Build => 3,
        Stage::Execute => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_secs(5);

    fn measured(times: &[(u64, u64)]) -> StageTimes {
        let measured = StageTimes::default();
        for &(count, millis) in times {
            (0..count).for_each(|_| measured.record(Stage::Build, Duration::from_millis(millis)));
        }
        measured
    }

    #[test]
    fn nothing_is_suspicious_before_enough_is_known() {
        assert_eq!(measured(&[(ENOUGH - 1, 1)]).patience(Stage::Build, LEAST), None);
        assert_eq!(measured(&[(ENOUGH, 1)]).patience(Stage::Build, LEAST), Some(LEAST));
        assert_eq!(measured(&[(ENOUGH, 1)]).patience(Stage::Execute, LEAST), None, "another stage");
    }

    #[test]
    fn patience_is_a_multiple_of_the_longest_times() {
        let times = measured(&[(ENOUGH, 100), (1, 2000)]);
        assert_eq!(times.patience(Stage::Build, LEAST), Some(FACTOR * Duration::from_millis(2048)));
    }

    #[test]
    fn outliers_change_no_patience() {
        let times = measured(&[(4 * OUTLIERS, 100), (4, 20_000)]);
        assert_eq!(times.patience(Stage::Build, LEAST), Some(LEAST));
        times.record(Stage::Build, Duration::from_secs(20));
        assert!(times.patience(Stage::Build, LEAST) > Some(Duration::from_mins(2)));
    }

    #[test]
    fn longest_time_has_a_bucket() {
        let times = measured(&[(ENOUGH, u64::MAX)]);
        assert!(times.patience(Stage::Build, LEAST) > Some(Duration::from_mins(30)));
    }
}
