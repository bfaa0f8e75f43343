use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// What an investigation runs a case for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To find a smaller case that shows the same.
    Reduction,
    /// To see which mutants explain a case with other values, or of other extents.
    Explanation,
    /// To find out under which condition cases show the same.
    Trigger,
}

impl Purpose {
    /// Every purpose, in the order in which they are declared.
    const ALL: [Self; 3] = [Self::Reduction, Self::Explanation, Self::Trigger];
}

/// Ends one investigation from outside, and counts the cases that it runs.
///
/// A *canceled* investigation gives no result. One that is *timed out* tries no further candidates and goes on with the
/// smallest case that it has.
#[derive(Default)]
pub struct Cancellation {
    is_canceled: AtomicBool,
    is_hurried: AtomicBool,
    /// How many cases ran for each purpose.
    ran: [AtomicU64; Purpose::ALL.len()],
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

    /// Adds to the number of cases that ran for a purpose.
    pub fn count(&self, purpose: Purpose, cases: usize) {
        self.ran[purpose as usize].fetch_add(cases as u64, Ordering::Relaxed);
    }

    /// How many cases ran for a purpose so far.
    pub fn ran(&self, purpose: Purpose) -> u64 {
        self.ran[purpose as usize].load(Ordering::Relaxed)
    }

    /// How many cases ran so far.
    pub fn candidates(&self) -> u64 {
        Purpose::ALL.into_iter().map(|purpose| self.ran(purpose)).sum()
    }
}
