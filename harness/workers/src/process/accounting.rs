//! The processor time of a worker, by what it runs.

use std::{
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
    time::Duration,
};

use twinfer_case::ProcessorUse;

/// What a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WorkKind {
    /// Nothing yet.
    None,
    /// Cases of the campaign.
    Cases,
    /// Single cases that are investigated.
    Investigations,
    /// Single cases on a rung.
    Rungs,
}

/// The account of one worker.
#[derive(Debug, Default)]
pub struct Account {
    kind: AtomicU8,
    /// Milliseconds of processor time so far.
    millis: AtomicU64,
}

impl Account {
    /// The worker is used for this from now on, and counts as if it had been since it started.
    pub fn set_kind(&self, kind: WorkKind) {
        self.kind.store(kind as u8, Ordering::Relaxed);
    }

    /// The worker has used so much so far.
    pub fn record(&self, time: Duration) {
        self.millis.fetch_max(time.as_millis() as u64, Ordering::Relaxed);
    }

    /// What the worker has used so far; nothing while it is not known what for.
    pub fn so_far(&self) -> ProcessorUse {
        if self.is_for(WorkKind::None) { ProcessorUse::default() } else { self.in_the_end() }
    }

    /// What the worker has used when it has ended.
    pub fn in_the_end(&self) -> ProcessorUse {
        let millis = self.millis.load(Ordering::Relaxed);
        let none = ProcessorUse::default();
        if self.is_for(WorkKind::Cases) {
            ProcessorUse { cases_millis: millis, ..none }
        } else if self.is_for(WorkKind::Rungs) {
            ProcessorUse { rungs_millis: millis, ..none }
        } else {
            ProcessorUse { investigations_millis: millis, ..none }
        }
    }

    fn is_for(&self, kind: WorkKind) -> bool {
        self.kind.load(Ordering::Relaxed) == kind as u8
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
        account.set_kind(WorkKind::Investigations);
        account.record(Duration::from_secs(9));
        account.record(Duration::from_secs(7));
        assert_eq!(account.so_far(), ProcessorUse { investigations_millis: 9000, ..ProcessorUse::default() });
        account.set_kind(WorkKind::Rungs);
        assert_eq!(account.so_far(), ProcessorUse { rungs_millis: 9000, ..ProcessorUse::default() });
        account.set_kind(WorkKind::Cases);
        assert_eq!(account.in_the_end(), ProcessorUse { cases_millis: 9000, ..ProcessorUse::default() });
    }
}
