pub mod health;
pub mod occupancy;
pub mod turn;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::semaphore::Semaphore;

/// A device, shared by the workers of all variants that run on it.
pub struct Device {
    name: Option<String>,
    turn: Arc<Semaphore>,
    workers: AtomicUsize,
}

/// Counts a worker as running on a device until it is dropped.
pub struct DeviceUser(Arc<Device>);

impl Device {
    /// The device with this name, as `CUDA_VISIBLE_DEVICES` spells it; with `None`, the one that workers choose.
    pub fn new(name: Option<String>) -> Self {
        Self { name, turn: Arc::new(Semaphore::new("device turn", 1)), workers: AtomicUsize::new(0) }
    }

    /// The device's name; `None` if workers choose the device.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The semaphore of workers that use the device exclusively: one of them runs cases at a time.
    pub const fn turn(&self) -> &Arc<Semaphore> {
        &self.turn
    }

    /// Counts a worker.
    pub fn add_worker(self: &Arc<Self>) -> DeviceUser {
        self.workers.fetch_add(1, Ordering::Relaxed);
        DeviceUser(Arc::clone(self))
    }

    /// How many workers run on the device.
    pub fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed)
    }
}

impl Drop for DeviceUser {
    fn drop(&mut self) {
        self.0.workers.fetch_sub(1, Ordering::Relaxed);
    }
}
