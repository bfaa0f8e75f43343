use std::{collections::BTreeSet, iter::successors};

use twinfer_case::Shard;

/// Which cases of a shard a journal holds. Takes little memory for journals that are nearly in case order.
pub struct SeenCases {
    shard: Shard,
    /// Every case of the shard before this one was seen.
    next: u64,
    /// The cases behind it that were seen.
    ahead: BTreeSet<u64>,
}

impl SeenCases {
    /// No cases of `shard` yet.
    pub const fn of(shard: Shard) -> Self {
        Self { shard, next: shard.case_at(0), ahead: BTreeSet::new() }
    }

    /// The cases before the last one that were not seen, in order.
    pub fn missing(&self) -> impl Iterator<Item = u64> {
        let last = self.ahead.last().copied().unwrap_or(0);
        let cases = successors(Some(self.next), |index| index.checked_add(self.shard.count()));
        cases.take_while(move |index| *index < last).filter(|index| !self.ahead.contains(index))
    }

    /// Adds the case at `index` in the campaign; false if it was seen before.
    pub fn insert(&mut self, index: u64) -> bool {
        if index < self.next || !self.ahead.insert(index) {
            return false;
        }
        while self.ahead.remove(&self.next) {
            self.next = self.next.saturating_add(self.shard.count());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_new_once_in_any_order() {
        let mut seen = SeenCases::of(Shard::new(1, 3).unwrap());
        for index in [7, 1, 13, 4] {
            assert!(seen.insert(index), "{index}");
        }
        assert_eq!(seen.missing().collect::<Vec<_>>(), [10]);
        assert!(seen.insert(10) && seen.missing().next().is_none());
        assert_eq!((seen.next, seen.ahead.len()), (16, 0));
        for index in [1, 4, 7, 10, 13] {
            assert!(!seen.insert(index), "{index}");
        }
    }
}
