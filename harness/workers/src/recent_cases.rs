use std::collections::VecDeque;

/// How many of the cases before one are remembered with it.
const MEMORY: usize = 16;

/// The cases that a worker ran last, oldest first, as places in the campaign.
#[derive(Default)]
pub struct RecentCases(VecDeque<u64>);

impl RecentCases {
    /// Those before the next one.
    pub fn preceding(&self) -> Vec<u64> {
        self.0.iter().copied().collect()
    }

    /// Adds the case at `index`.
    pub fn remember(&mut self, index: u64) {
        if self.0.len() == MEMORY {
            self.0.pop_front();
        }
        self.0.push_back(index);
    }

    /// Begins anew, with a worker that has run nothing.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}
