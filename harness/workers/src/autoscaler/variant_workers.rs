use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crossbeam_channel::Receiver;
use twinfer_case::DeviceUse;

use super::capacity::Load;
use crate::{
    device_pools::DevicePools, executor::Executor, outbox::Outbox, pool::WorkerPool, work_item::WorkItem,
};

/// The executors of one variant: the pools of their workers, and the queue of their cases.
pub struct VariantWorkers {
    pools: Arc<DevicePools>,
    queue: Receiver<WorkItem>,
    device_use: DeviceUse,
    start_failed: Arc<AtomicBool>,
}

impl VariantWorkers {
    /// The executors of the variant of `pools`, which take their cases from `queue`.
    pub fn new(pools: Arc<DevicePools>, queue: Receiver<WorkItem>, device_use: DeviceUse) -> Self {
        Self { pools, queue, device_use, start_failed: Arc::default() }
    }

    /// Where the workers come from.
    pub(super) const fn pools(&self) -> &Arc<DevicePools> {
        &self.pools
    }

    /// Whether the workers share their devices.
    pub(super) const fn device_use(&self) -> DeviceUse {
        self.device_use
    }

    /// Set once an additional worker did not start.
    pub(super) const fn start_failed(&self) -> &Arc<AtomicBool> {
        &self.start_failed
    }

    /// An executor of this variant, at index `variant` in the campaign, on the device of `pool`.
    pub(super) fn executor(&self, variant: usize, pool: &Arc<WorkerPool>, outbox: Outbox) -> Executor {
        Executor::new(variant, (Arc::clone(&self.pools), Arc::clone(pool)), self.queue.clone(), outbox)
    }

    /// Whether cases wait for more workers on devices.
    pub(super) fn waits_for_devices(&self) -> bool {
        self.pools.is_on_devices() && self.queue.len() > self.pools.executors()
    }

    /// The workers and cases now.
    pub(super) fn load(&self) -> Load {
        let next = self.pools.least_busy();
        Load {
            workers: self.pools.executors(),
            starting: self.pools.starting_executors(),
            footprint: self.pools.footprint(),
            queued: self.queue.len(),
            in_flight: self.pools.activity().in_flight(),
            busy: self.pools.activity().busy(),
            device_use: self.device_use,
            device: next.occupancy(),
            on_device: next.executors(),
            start_failed: self.start_failed.load(Ordering::Relaxed),
        }
    }
}
