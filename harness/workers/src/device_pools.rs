//! A *site*: where the workers of one variant come from, a nursery a device.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use twinfer_case::{DeviceUse, Event, Task, Variant};

use crate::{
    Deadlines, WorkerCommand, WorkerError,
    device::Device,
    memory,
    pool::{SparePolicy, Trial, WorkerPool},
    process::deadline::Watchdog,
    process::{Loss, WorkerProcess},
    semaphore::Semaphore,
};

/// The nurseries of a variant. A device on which no worker starts is given up as long as there is another.
pub struct DevicePools {
    nurseries: Vec<Arc<WorkerPool>>,
    /// Whose turn it is to give a worker.
    turn: AtomicUsize,
    /// The most bytes that a worker was seen to hold; 0 before one has run a case.
    footprint: AtomicU64,
    /// Cases that lanes hold unanswered.
    in_flight: AtomicUsize,
    /// Lanes that hold any.
    busy_lanes: AtomicUsize,
    niced: NicedWorkers,
}

/// That a lane holds cases, until it is dropped.
pub struct Busy(Arc<DevicePools>);

/// Whose workers let others go first where cores are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicedWorkers {
    /// Those of lanes: all cases are run in the end, and they wait for investigations.
    Executors,
    /// Those that investigate, once they are warm: as many cases are to be run as time allows, and what is not investigated
    /// by then is told.
    Triage,
}

/// How the workers of every variant of a campaign are started.
#[derive(Clone)]
pub struct PoolOptions {
    /// How to start the worker of a built-in backend.
    pub command: WorkerCommand,
    /// How long a worker may stay in each stage.
    pub deadlines: Deadlines,
    /// The GPUs to use, as `CUDA_VISIBLE_DEVICES` names them; all visible ones if empty.
    pub devices: Vec<String>,
    /// Divergences that are investigated at once; each may need a worker that has run nothing.
    pub investigations: usize,
    /// Whose workers run at a lower priority.
    pub niced: NicedWorkers,
}

/// What the workers of every site share.
pub struct HostContext {
    watchdog: Watchdog,
    gate: Arc<Semaphore>,
    /// Those that were named; where none is, workers are taken to share one.
    devices: Mutex<BTreeMap<Option<String>, Arc<Device>>>,
}

impl HostContext {
    /// That of this machine.
    pub fn start() -> Self {
        let gate = Arc::new(Semaphore::for_worker_starts());
        Self { watchdog: Watchdog::start(), gate, devices: Mutex::default() }
    }

    /// Ends all workers: nobody waits for what they are at.
    pub fn kill_workers(&self) {
        self.watchdog.kill_all();
    }

    fn device(&self, name: Option<String>) -> Arc<Device> {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(devices.entry(name.clone()).or_insert_with(|| Arc::new(Device::new(name))))
    }
}

impl DevicePools {
    /// A nursery for each of the devices that the variant is to use, with so many `spares` that stand by.
    pub fn new(variant: &Variant, options: &PoolOptions, ground: &HostContext, spares: usize) -> Self {
        let pinned = variant.backend.is_pinned_to_device();
        let devices: Vec<_> = options.devices.iter().filter(|_| pinned).cloned().map(Some).collect();
        let devices = if devices.is_empty() { vec![None] } else { devices };
        let most = spares + options.investigations.div_ceil(devices.len());
        let nursery = |device: Option<String>| {
            let (command, gate) = (options.command.clone(), Arc::clone(&ground.gate));
            let (watchdog, reserve) = (ground.watchdog.clone(), SparePolicy { least: spares, most });
            let nursery =
                WorkerPool::new(variant.clone(), command, options.deadlines, watchdog, gate, reserve);
            Arc::new(nursery.on_device(ground.device(device)))
        };
        Self { niced: options.niced, ..Self::of(devices.into_iter().map(nursery).collect()) }
    }

    /// The site of these nurseries, at least one, all of one variant.
    pub const fn of(nurseries: Vec<Arc<WorkerPool>>) -> Self {
        let (turn, footprint) = (AtomicUsize::new(0), AtomicU64::new(0));
        let (in_flight, busy_lanes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { nurseries, turn, footprint, in_flight, busy_lanes, niced: NicedWorkers::Executors }
    }

    /// Whose workers let others go first.
    pub const fn niced(&self) -> NicedWorkers {
        self.niced
    }

    /// Which variant.
    pub fn variant(&self) -> &Variant {
        self.nurseries[0].variant()
    }

    /// One a device.
    pub fn pools(&self) -> &[Arc<WorkerPool>] {
        &self.nurseries
    }

    /// Whether its workers compute on devices, as those say that have started.
    pub fn is_on_devices(&self) -> bool {
        self.nurseries.iter().any(|nursery| nursery.occupancy().is_some())
    }

    /// The nursery of one device after the other, as long as one is left that is not given up.
    pub fn next(&self) -> &Arc<WorkerPool> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let all =
            || self.nurseries.iter().cycle().skip(turn % self.nurseries.len()).take(self.nurseries.len());
        all().find(|nursery| !nursery.health().is_given_up()).unwrap_or(&self.nurseries[0])
    }

    /// The nursery of another device than that of `nursery`, where one is left.
    pub fn other_than(&self, nursery: &Arc<WorkerPool>) -> Option<&Arc<WorkerPool>> {
        let is_other = |other: &&Arc<WorkerPool>| !Arc::ptr_eq(other, nursery);
        (0..self.nurseries.len())
            .map(|_| self.next())
            .find(is_other)
            .filter(|other| !other.health().is_given_up())
    }

    /// Does `work` with the nursery of some device; with that of another where no worker starts there.
    pub fn somewhere<T>(
        &self,
        work: impl Fn(&Arc<WorkerPool>) -> Result<T, WorkerError>,
    ) -> Result<T, WorkerError> {
        let mut nursery = self.next();
        loop {
            match (work(nursery), self.other_than(nursery)) {
                (Err(_), Some(other)) if nursery.health().is_given_up() => nursery = other,
                (result, _) => return result,
            }
        }
    }

    /// Runs `task` in fresh workers until what happens is the case's own doing: what ends them on one device has to end them
    /// on another too, where there is one.
    pub fn try_fresh(&self, task: &Task, suspicion: Option<&Loss>) -> Result<Trial, WorkerError> {
        self.somewhere(|nursery| {
            let trial = nursery.try_fresh(task, suspicion)?;
            let Some(other) = self.other_than(nursery).filter(|_| trial.is_lost()) else { return Ok(trial) };
            let elsewhere = other.try_fresh(task, None)?;
            if elsewhere.is_lost() {
                return Ok(trial);
            }
            nursery.health().strike();
            Ok(elsewhere)
        })
    }

    /// The nursery of the device with the fewest lanes.
    pub fn least_busy(&self) -> &Arc<WorkerPool> {
        let usable = self.nurseries.iter().filter(|nursery| !nursery.health().is_given_up());
        usable.min_by_key(|nursery| nursery.lanes()).unwrap_or(&self.nurseries[0])
    }

    /// How many lanes there are, those among them whose workers are starting.
    pub fn lanes(&self) -> usize {
        self.nurseries.iter().map(|nursery| nursery.lanes()).sum()
    }

    /// Counts a case that a lane took.
    pub fn took(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one that is answered.
    pub fn returned(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Cases that lanes hold unanswered.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Counts a lane that holds cases.
    pub fn busy(self: &Arc<Self>) -> Busy {
        self.busy_lanes.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Lanes that hold cases unanswered.
    pub fn busy_lanes(&self) -> usize {
        self.busy_lanes.load(Ordering::Relaxed)
    }

    /// How many lanes wait for their first worker.
    pub fn starting(&self) -> usize {
        self.nurseries.iter().map(|nursery| nursery.starting()).sum()
    }

    /// The nursery of each of `jobs` lanes: every device has one at least, and no more where its workers must have it
    /// alone.
    pub fn pools_for(&self, jobs: usize, device_use: DeviceUse) -> impl Iterator<Item = &Arc<WorkerPool>> {
        let devices = self.nurseries.len();
        let lanes = match device_use {
            DeviceUse::Shared => jobs.max(devices),
            DeviceUse::Alone => devices,
        };
        self.nurseries.iter().cycle().take(lanes)
    }

    /// Notes what a worker holds that has run cases.
    pub fn weigh(&self, worker: &WorkerProcess) {
        self.footprint.fetch_max(memory::own(worker.pid()).unwrap_or(0), Ordering::Relaxed);
    }

    /// Bytes that a worker takes, once one has run cases.
    pub fn footprint(&self) -> Option<u64> {
        Some(self.footprint.load(Ordering::Relaxed)).filter(|footprint| *footprint > 0)
    }

    /// Devices that were given up since this was asked last.
    pub fn newly_given_up(&self) -> impl Iterator<Item = Event> {
        self.nurseries.iter().filter(|_| self.nurseries.len() > 1).filter_map(|nursery| {
            Some(Event::DeviceGivenUp {
                reason: nursery.health().newly_given_up()?.to_owned(),
                variant: self.variant().clone(),
                device: nursery.device()?.to_owned(),
            })
        })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy_lanes.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A worker of each nursery, all started at once.
pub fn start_all(nurseries: Vec<Vec<&Arc<WorkerPool>>>) -> Result<Vec<Vec<WorkerProcess>>, WorkerError> {
    thread::scope(|scope| {
        let start = |nursery: &Arc<WorkerPool>| {
            let nursery = Arc::clone(nursery);
            scope.spawn(move || nursery.take())
        };
        let starting: Vec<Vec<_>> =
            nurseries.into_iter().map(|nurseries| nurseries.into_iter().map(start).collect()).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err(WorkerError::Supervisor("a starting thread panicked".to_owned())))
        };
        starting.into_iter().map(|threads| threads.into_iter().map(join).collect()).collect()
    })
}
