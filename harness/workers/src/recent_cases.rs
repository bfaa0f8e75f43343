use std::collections::VecDeque;

/// Cases that are kept per worker.
const KEPT: usize = 16;

/// The cases that a worker ran last, oldest first, as indices in the campaign.
#[derive(Default)]
pub struct RecentCases(VecDeque<u64>);

impl RecentCases {
    /// The cases before the next one, oldest first.
    pub fn preceding(&self) -> Vec<u64> {
        self.0.iter().copied().collect()
    }

    /// Adds the case at `index`, and drops the oldest one if there are too many.
    pub fn push(&mut self, index: u64) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(index);
    }

    /// Drops all cases: another worker begins.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, RecentCases};

    #[test]
    fn oldest_case_is_dropped_when_full() {
        let mut recent = RecentCases::default();
        (0..=KEPT as u64).for_each(|index| recent.push(index));
        assert_eq!(recent.preceding(), (1..=KEPT as u64).collect::<Vec<_>>());
        recent.clear();
        assert!(recent.preceding().is_empty());
    }
}
