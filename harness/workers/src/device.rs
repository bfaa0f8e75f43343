pub mod health;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::semaphore::Semaphore;

/// A device, with what the workers of all variants share that are on it.
pub struct Device {
    name: Option<String>,
    turn: Arc<Semaphore>,
    workers: AtomicUsize,
}

/// That a worker is on a device, until it is dropped.
pub struct Membership(Arc<Device>);

impl Device {
    /// The device of this `name`, as `CUDA_VISIBLE_DEVICES` spells it; where none is named, the one that workers choose.
    pub fn new(name: Option<String>) -> Self {
        Self { name, turn: Arc::new(Semaphore::new(1)), workers: AtomicUsize::new(0) }
    }

    /// Its name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// One worker that wants the device alone passes at a time.
    pub const fn turn(&self) -> &Arc<Semaphore> {
        &self.turn
    }

    /// Counts a worker.
    pub fn join(self: &Arc<Self>) -> Membership {
        self.workers.fetch_add(1, Ordering::Relaxed);
        Membership(Arc::clone(self))
    }

    /// How many workers are on it.
    pub fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.0.workers.fetch_sub(1, Ordering::Relaxed);
    }
}
