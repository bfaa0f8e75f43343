use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::stages::JudgedCase;

/// Cases with all their verdicts whose divergences are not decided yet, in case order.
#[derive(Default)]
pub struct Undecided {
    cases: BTreeMap<u64, JudgedCase>,
    /// The cases that [`longer_than`](Self::longer_than) has not returned, with when they were added, in that order.
    added: Vec<(Instant, u64)>,
}

impl Undecided {
    /// Adds a case.
    pub fn add(&mut self, case: JudgedCase) {
        self.added.push((Instant::now(), case.index));
        self.cases.insert(case.index, case);
    }

    /// Adds a case again that was taken.
    pub fn put_back(&mut self, case: JudgedCase) {
        self.cases.insert(case.index, case);
    }

    /// Takes the first case if its index in the campaign is less than `end`.
    pub fn take_before(&mut self, end: u64) -> Option<JudgedCase> {
        let first = self.cases.first_entry()?;
        (*first.key() < end).then(|| first.remove())
    }

    /// The cases that were added at least this long ago; each is returned once.
    pub fn longer_than(&mut self, wait: Duration) -> impl Iterator<Item = &JudgedCase> {
        let count = self.added.partition_point(|(added, _)| added.elapsed() >= wait);
        self.added.drain(..count).filter_map(|(_, index)| self.cases.get(&index))
    }

    /// All cases, by their index in the campaign.
    pub const fn cases(&self) -> &BTreeMap<u64, JudgedCase> {
        &self.cases
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.cases.len()
    }
}
