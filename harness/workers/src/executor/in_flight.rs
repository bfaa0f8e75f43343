use std::{collections::VecDeque, sync::Arc};

use crate::{
    device_pools::activity::{Activity, BusyExecutor},
    work_item::WorkItem,
};

/// The cases that a worker has received and not answered, oldest first. The variant's [`Activity`] counts them.
pub struct InFlight {
    items: VecDeque<WorkItem>,
    bytes: usize,
    activity: Arc<Activity>,
    /// `None` while there are no cases, unless the executor waits for a worker.
    busy: Option<BusyExecutor>,
}

impl InFlight {
    /// No cases yet.
    pub const fn new(activity: Arc<Activity>) -> Self {
        Self { items: VecDeque::new(), bytes: 0, activity, busy: None }
    }

    /// The case that the worker answers next.
    pub fn front(&self) -> Option<&WorkItem> {
        self.items.front()
    }

    /// All cases, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &WorkItem> {
        self.items.iter()
    }

    /// The number of cases.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no cases.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes of all encoded cases.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a case that was sent.
    pub fn push(&mut self, item: WorkItem) {
        self.count(&item);
        self.items.push_back(item);
        self.update_busy();
    }

    /// Adds a case again that counted as answered.
    pub fn return_to_front(&mut self, item: WorkItem) {
        self.count(&item);
        self.items.push_front(item);
        self.update_busy();
    }

    /// Removes the case in front, which is answered.
    pub fn pop(&mut self) -> Option<WorkItem> {
        let item = self.items.pop_front()?;
        self.bytes -= item.case.bytes;
        self.activity.remove_case();
        self.update_busy();
        Some(item)
    }

    /// Counts the executor as busy until [`update_busy`](Self::update_busy), whether there are cases or not.
    pub fn set_busy(&mut self) {
        self.busy.get_or_insert_with(|| self.activity.add_busy());
    }

    /// Counts the executor as busy if there are cases.
    pub fn update_busy(&mut self) {
        if self.is_empty() {
            self.busy = None;
        } else {
            self.set_busy();
        }
    }

    fn count(&mut self, item: &WorkItem) {
        self.bytes += item.case.bytes;
        self.activity.add_case();
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::EncodedCase;
    use twinfer_generators::{Distribution, Family};

    use super::*;

    #[test]
    fn executor_is_busy_while_it_has_cases() {
        let activity = Arc::new(Activity::default());
        let (mut in_flight, cases) =
            (InFlight::new(Arc::clone(&activity)), Family::Conv.stream(Distribution::Baseline, 0));
        for index in 0..2 {
            let case = EncodedCase::encode(cases.case(index)).unwrap();
            in_flight.push(WorkItem { index, case, repeat: false });
            assert_eq!((activity.busy(), activity.in_flight()), (1, index as usize + 1));
        }
        let first = in_flight.pop().unwrap();
        assert_eq!((activity.busy(), activity.in_flight()), (1, 1));
        assert_eq!(in_flight.pop().unwrap().index, 1);
        assert_eq!((activity.busy(), activity.in_flight(), in_flight.bytes()), (0, 0, 0));
        in_flight.return_to_front(first);
        assert_eq!((activity.busy(), activity.in_flight()), (1, 1));
    }
}
