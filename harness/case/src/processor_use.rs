use std::ops::Add;

use serde::{Deserialize, Serialize};

/// The processor time of workers, with all processes that they started, by what they ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// Milliseconds of workers that ran the cases of a campaign, also with poisoned memory.
    pub cases_millis: u64,
    /// Milliseconds of workers for investigations, for cases that run again in a fresh worker, and of those that were started in advance and ran
    /// nothing.
    pub investigations_millis: u64,
    /// Milliseconds of workers of rungs.
    pub rungs_millis: u64,
}

impl ProcessorUse {
    /// The sum in milliseconds.
    pub const fn total_millis(self) -> u64 {
        self.cases_millis.saturating_add(self.investigations_millis).saturating_add(self.rungs_millis)
    }

    /// The share of investigations and rungs, from 0 to 1; 0 if nothing was used.
    pub fn share_beside_cases(self) -> f64 {
        self.investigations_millis.saturating_add(self.rungs_millis) as f64
            / self.total_millis().max(1) as f64
    }
}

impl Add for ProcessorUse {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cases_millis: self.cases_millis.saturating_add(other.cases_millis),
            investigations_millis: self.investigations_millis.saturating_add(other.investigations_millis),
            rungs_millis: self.rungs_millis.saturating_add(other.rungs_millis),
        }
    }
}
