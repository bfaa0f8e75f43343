use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Ends one investigation from outside, and counts its candidates.
///
/// A *canceled* investigation gives no result. One that is *timed out* tries no further candidates and goes on with the
/// smallest case that it has.
#[derive(Default)]
pub struct Cancellation {
    is_canceled: AtomicBool,
    is_hurried: AtomicBool,
    candidates: AtomicU64,
    /// When the time limit expires; `None` without one.
    deadline: Option<Instant>,
}

impl Cancellation {
    /// For an investigation that may try candidates for this long from now on; `None` for no limit.
    pub fn with_limit(limit: Option<Duration>) -> Self {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        Self { deadline, ..Self::default() }
    }

    /// Whether the investigation may try further candidates.
    pub fn is_active(&self) -> bool {
        !self.is_canceled() && !self.is_timed_out()
    }

    /// Whether the time limit has expired.
    pub fn is_timed_out(&self) -> bool {
        self.is_hurried.load(Ordering::Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Has the time limit expire now.
    pub fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Relaxed);
    }

    /// Ends the investigation soon and without a result.
    pub fn cancel(&self) {
        self.is_canceled.store(true, Ordering::Relaxed);
    }

    /// Whether the investigation is to end without a result.
    pub fn is_canceled(&self) -> bool {
        self.is_canceled.load(Ordering::Relaxed)
    }

    /// Adds to the number of candidates that were run.
    pub fn count_candidates(&self, candidates: usize) {
        self.candidates.fetch_add(candidates as u64, Ordering::Relaxed);
    }

    /// How many candidates were run so far.
    pub fn candidates(&self) -> u64 {
        self.candidates.load(Ordering::Relaxed)
    }
}
