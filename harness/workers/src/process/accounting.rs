//! The processor time of all workers, by what they run.

use std::{
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
    time::Duration,
};

use twinfer_case::ProcessorUse;

/// What a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Nothing yet.
    None,
    /// Cases of the campaign.
    Cases,
    /// Single cases that are investigated, or that run on a rung.
    Investigations,
}

/// The account of one worker.
#[derive(Debug, Default)]
pub struct Account {
    purpose: AtomicU8,
    /// Milliseconds of processor time so far.
    millis: AtomicU64,
}

impl Account {
    /// The worker is used for this from now on, and counts as if it had been since it started.
    pub fn set_purpose(&self, purpose: Purpose) {
        self.purpose.store(purpose as u8, Ordering::Relaxed);
    }

    /// The worker has used so much so far.
    pub fn record(&self, time: Duration) {
        self.millis.fetch_max(time.as_millis() as u64, Ordering::Relaxed);
    }

    /// What the worker has used so far; nothing while it is not known what for.
    pub fn so_far(&self) -> ProcessorUse {
        if self.is_for(Purpose::None) { ProcessorUse::default() } else { self.in_the_end() }
    }

    /// What the worker has used when it has ended.
    pub fn in_the_end(&self) -> ProcessorUse {
        let millis = self.millis.load(Ordering::Relaxed);
        if self.is_for(Purpose::Cases) {
            ProcessorUse { cases_millis: millis, ..ProcessorUse::default() }
        } else {
            ProcessorUse { investigations_millis: millis, ..ProcessorUse::default() }
        }
    }

    fn is_for(&self, purpose: Purpose) -> bool {
        self.purpose.load(Ordering::Relaxed) == purpose as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_counts_for_what_it_ran() {
        let account = Account::default();
        account.record(Duration::from_secs(8));
        assert_eq!(account.so_far(), ProcessorUse::default());
        assert_eq!(account.in_the_end().investigations_millis, 8000, "it was started in advance for nothing");
        account.set_purpose(Purpose::Investigations);
        account.record(Duration::from_secs(9));
        account.record(Duration::from_secs(7));
        assert_eq!(account.so_far(), ProcessorUse { cases_millis: 0, investigations_millis: 9000 });
        account.set_purpose(Purpose::Cases);
        assert_eq!(account.in_the_end(), ProcessorUse { cases_millis: 9000, investigations_millis: 0 });
    }
}
