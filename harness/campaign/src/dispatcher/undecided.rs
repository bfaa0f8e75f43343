use std::{
    collections::BTreeMap,
    mem,
    time::{Duration, Instant},
};

use crate::stages::JudgedCase;

/// Cases with all their verdicts whose divergences are not decided yet, in case order.
#[derive(Default)]
pub struct Undecided {
    cases: BTreeMap<u64, JudgedCase>,
    /// The cases that [`longer_than`](Self::longer_than) has not returned, with when they were added, in that order.
    added: Vec<(Instant, u64)>,
    changed: Changed,
}

/// The cases about which more is known than when they were looked at last.
enum Changed {
    These(Vec<u64>),
    All,
}

impl Default for Changed {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl Undecided {
    /// Adds a case.
    pub fn add(&mut self, case: JudgedCase) {
        self.added.push((Instant::now(), case.index));
        if let Changed::These(cases) = &mut self.changed {
            cases.push(case.index);
        }
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

    /// Takes the case at `index`, if there is one.
    pub fn take(&mut self, index: u64) -> Option<JudgedCase> {
        self.cases.remove(&index)
    }

    /// More is known than before, which may decide any case.
    pub fn reconsider(&mut self) {
        self.changed = Changed::All;
    }

    /// The cases about which more is known than when they were looked at last; `None` if there are none.
    pub fn take_changed(&mut self) -> Option<Vec<u64>> {
        let changed = match mem::take(&mut self.changed) {
            Changed::These(cases) => cases,
            Changed::All => self.cases.keys().copied().collect(),
        };
        Some(changed).filter(|cases| !cases.is_empty())
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use twinfer_case::{CaseHash, CaseRecord, JOURNAL_FORMAT, Request};
    use twinfer_onnx::DataType;

    use super::*;

    fn case(index: u64) -> JudgedCase {
        let record = CaseRecord {
            format: JOURNAL_FORMAT,
            index,
            case: CaseHash::over(&[], &Request { precision: DataType::Float, tf32: false }, &[]),
            provenance: None,
            variants: Vec::new(),
            findings: Vec::new(),
            masks: Vec::new(),
            reduced: Vec::new(),
            waits: false,
            open: Vec::new(),
            macs: 0,
        };
        JudgedCase { index, record, is_final: true, suspects: Vec::new(), resolved: Vec::new() }
    }

    #[test]
    fn cases_change_when_they_come_and_when_more_is_known() {
        let mut undecided = Undecided::default();
        [3, 1, 2].map(case).into_iter().for_each(|case| undecided.add(case));
        assert_eq!(undecided.take_changed(), Some(vec![3, 1, 2]));
        assert_eq!(undecided.take_changed(), None);
        let taken = undecided.take(2).unwrap();
        undecided.put_back(taken);
        assert_eq!(undecided.take_changed(), None, "it is no news that it waits");
        undecided.add(case(0));
        undecided.reconsider();
        assert_eq!(undecided.take_changed(), Some(vec![0, 1, 2, 3]));
        assert_eq!(undecided.longer_than(Duration::ZERO).count(), 4);
    }
}
