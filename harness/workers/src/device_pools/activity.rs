use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// How busy the executors of a variant are.
#[derive(Default)]
pub struct Activity {
    in_flight: AtomicUsize,
    busy: AtomicUsize,
}

/// Counts an executor as busy until it is dropped.
pub struct BusyExecutor(Arc<Activity>);

impl Activity {
    /// Counts a case that an executor sent to its worker.
    pub fn add_case(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a case that is answered.
    pub fn remove_case(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Cases in flight, over all executors.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Counts an executor that has cases in flight.
    pub fn add_busy(self: &Arc<Self>) -> BusyExecutor {
        self.busy.fetch_add(1, Ordering::Relaxed);
        BusyExecutor(Arc::clone(self))
    }

    /// Executors that have cases in flight.
    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }
}

impl Drop for BusyExecutor {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
