use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

/// A point in time, as the time since the first call of [`Timestamp::now`] in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub Duration);

impl Timestamp {
    /// The current time.
    pub fn now() -> Self {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        Self(START.elapsed())
    }

    /// The time from `earlier` until this timestamp; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
