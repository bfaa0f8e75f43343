use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{device::Device, process::watchdog::Watchdog, semaphore::Semaphore};

/// What the workers of all variants on this machine share: the watchdog, the devices, and a bound on how many start at once.
pub struct HostContext {
    watchdog: Watchdog,
    starts: Arc<Semaphore>,
    /// By name; workers without a named device count as sharing one.
    devices: Mutex<BTreeMap<Option<String>, Arc<Device>>>,
}

impl HostContext {
    /// The context of this machine, with a new watchdog.
    pub fn start() -> Self {
        let starts = Arc::new(Semaphore::for_worker_starts());
        Self { watchdog: Watchdog::start(), starts, devices: Mutex::default() }
    }

    /// Kills all workers, and each that starts from now on: the campaign is over.
    pub fn kill_workers(&self) {
        self.watchdog.shut_down();
    }

    /// The watchdog of all workers.
    pub(crate) const fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// The semaphore that bounds how many workers start at once.
    pub(crate) const fn starts(&self) -> &Arc<Semaphore> {
        &self.starts
    }

    /// The device of this name, the same one for all variants.
    pub(crate) fn device(&self, name: Option<String>) -> Arc<Device> {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(devices.entry(name.clone()).or_insert_with(|| Arc::new(Device::new(name))))
    }
}
