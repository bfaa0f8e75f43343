use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use twinfer_case::{ProcessorUse, StartingWorkers};

use crate::{
    device::Device, host_memory::HostMemory, idle::IdleRegistry, process::watchdog::Watchdog,
    semaphore::Semaphore,
};

/// What the workers of all variants on this machine share: the watchdog, the memory, the devices, and a bound on how many start at once.
pub struct HostContext {
    watchdog: Watchdog,
    memory: Arc<HostMemory>,
    starts: Arc<Semaphore>,
    /// By name; workers without a named device count as sharing one.
    devices: Mutex<BTreeMap<Option<String>, Arc<Device>>>,
    /// How many processes each device serves at once; `None` if any number.
    places: Option<usize>,
    idle: IdleRegistry,
}

impl HostContext {
    /// The context of this machine, with a new watchdog.
    pub fn start() -> Self {
        let starts = Arc::new(Semaphore::for_worker_starts());
        Self {
            watchdog: Watchdog::start(),
            memory: Arc::new(HostMemory::of_machine()),
            starts,
            devices: Mutex::default(),
            places: None,
            idle: IdleRegistry::default(),
        }
    }

    /// The same context, of devices each of which serves so many processes at once; any number with `None`.
    #[must_use]
    pub fn with_device_workers(self, places: Option<NonZeroUsize>) -> Self {
        Self { places: places.map(NonZeroUsize::get), ..self }
    }

    /// Kills all workers, and each that starts from now on: the campaign is over.
    pub fn kill_workers(&self) {
        self.watchdog.shut_down();
    }

    /// Keeps most starts for workers of executors: cases run from now on.
    pub fn begin_cases(&self) {
        self.starts.favor_executors();
    }

    /// Lets any workers have all starts: no case runs any more.
    pub fn end_cases(&self) {
        self.starts.stop_favoring_executors();
    }

    /// The workers that are starting.
    pub fn starting(&self) -> StartingWorkers {
        let (now, waiting) = self.starts.taken_and_awaited();
        StartingWorkers { now, waiting }
    }

    /// The processor time of all workers so far, at most a second old.
    pub fn processor_use(&self) -> ProcessorUse {
        self.watchdog.processor_use()
    }

    /// The processor time of all workers once none runs anything more.
    pub fn processor_use_in_the_end(&self) -> ProcessorUse {
        self.watchdog.processor_use_in_the_end()
    }

    /// The watchdog of all workers.
    pub(crate) const fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// The memory of all workers.
    pub(crate) const fn memory(&self) -> &Arc<HostMemory> {
        &self.memory
    }

    /// The semaphore that bounds how many workers start at once.
    pub(crate) const fn starts(&self) -> &Arc<Semaphore> {
        &self.starts
    }

    /// Everything that keeps idle workers.
    pub(crate) const fn idle(&self) -> &IdleRegistry {
        &self.idle
    }

    /// The device of this name, the same one for all variants.
    pub(crate) fn device(&self, name: Option<String>) -> Arc<Device> {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(devices.entry(name.clone()).or_insert_with(|| Arc::new(Device::new(name, self.places))))
    }
}
