pub mod activity;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use twinfer_case::{Description, DeviceUse, Event, MemoryMode, PoisonPattern, Task, TrustedVariant, Variant};

use self::activity::Activity;
use crate::{
    device::Device,
    error::WorkerError,
    host_context::HostContext,
    idle::IdleRegistry,
    loss::Loss,
    memory,
    pool::{
        WorkerPool,
        spares::{SparePolicy, SpareRequest},
        trial::Trial,
    },
    process::{Watch, WorkerProcess, command::WorkerCommand, deadline::Deadlines},
    semaphore::Priority,
    stage_times::StageTimes,
    worker_memory::WorkerMemory,
};

/// The pools of a variant, one per device. A device on which no worker starts is given up as long as there is another one.
pub struct DevicePools {
    pools: Vec<Arc<WorkerPool>>,
    /// Counts how often a pool was asked for.
    turn: AtomicUsize,
    /// The most bytes that a worker was seen to hold; 0 before one has run a case.
    footprint: AtomicU64,
    activity: Arc<Activity>,
    /// How long cases take in the workers of executors and in warm ones.
    times: Arc<StageTimes>,
    executors_yield: bool,
    /// Pools on the same devices whose workers start with other memory, once they are needed.
    with_memory: Mutex<Vec<(WorkerMemory, Arc<Self>)>>,
}

/// How the workers of every variant of a campaign are started.
#[derive(Clone)]
pub struct PoolOptions {
    /// The command that starts the worker of a built-in backend.
    pub command: WorkerCommand,
    /// How long a worker may stay in each stage.
    pub deadlines: Deadlines,
    /// The GPUs to use, as `CUDA_VISIBLE_DEVICES` names them; all visible ones if empty.
    pub devices: Vec<String>,
    /// Divergences that are investigated at once. Each may need a fresh worker.
    pub investigations: usize,
    /// Whether executors leave processors to workers of triage, which matters if there are fewer cores than busy processes: with a budget
    /// of cases all of them run in the end, and triage decides when.
    pub executors_yield: bool,
}

impl DevicePools {
    /// A pool for each device that the variant is to use. Each keeps `spares` spares.
    pub fn new(variant: &TrustedVariant, options: &PoolOptions, host: &HostContext, spares: usize) -> Self {
        let is_pinned = variant.backend.is_pinned_to_device();
        let devices: Vec<_> = options.devices.iter().filter(|_| is_pinned).cloned().map(Some).collect();
        let devices = if devices.is_empty() { vec![None] } else { devices };
        let most = spares + options.investigations.div_ceil(devices.len());
        let policy = SparePolicy { least: spares, most };
        let pool = |device: Option<String>| {
            let command = options.command.clone();
            let pool = WorkerPool::new(variant.clone(), command, options.deadlines, host, policy);
            // a worker that uses no device takes no place on one
            let device = if is_pinned { host.device(device) } else { Arc::new(Device::new(None, None)) };
            Arc::new(pool.on_device(device))
        };
        Self { executors_yield: options.executors_yield, ..Self::of(devices.into_iter().map(pool).collect()) }
    }

    /// These pools, of workers of which this description is expected.
    #[must_use]
    pub fn expecting(self, description: &Description) -> Self {
        self.pools.iter().for_each(|pool| pool.expect(description));
        self
    }

    /// These pools, at least one, all of one variant.
    pub fn of(pools: Vec<Arc<WorkerPool>>) -> Self {
        Self {
            pools,
            turn: AtomicUsize::new(0),
            footprint: AtomicU64::new(0),
            activity: Arc::default(),
            times: Arc::default(),
            executors_yield: false,
            with_memory: Mutex::default(),
        }
    }

    /// Pools on the same devices whose workers start with other `memory`; the same ones each time.
    #[must_use]
    pub fn with_memory(&self, memory: WorkerMemory) -> Arc<Self> {
        let mut pools = self.with_memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, there)) = pools.iter().find(|(other, _)| *other == memory) {
            return Arc::clone(there);
        }
        let of_each = self.pools.iter().map(|pool| Arc::new(pool.with_memory(memory)));
        let added = Self { executors_yield: self.executors_yield, ..Self::of(of_each.collect()) };
        let added = Arc::new(added);
        pools.push((memory, Arc::clone(&added)));
        added
    }

    /// The pools whose workers confirm what the workers of these show: they leave memory untouched where these keep it.
    #[must_use]
    pub fn confirming(self: &Arc<Self>) -> Arc<Self> {
        if self.variant().memory() == Some(MemoryMode::Keep) {
            self.with_memory(WorkerMemory::Untouched)
        } else {
            Arc::clone(self)
        }
    }

    /// Starts the workers that the repeats of a first case will need, one fresh and one with each filling, if workers take long to start.
    pub fn request_first_repeats(self: &Arc<Self>) -> Vec<SpareRequest> {
        let confirming = self.confirming();
        let filled = PoisonPattern::ALL.map(|pattern| confirming.with_memory(WorkerMemory::Filled(pattern)));
        [confirming].into_iter().chain(filled).map(|pools| pools.next().request_spares(1)).collect()
    }

    /// Whether no worker starts on any device.
    pub fn are_given_up(&self) -> bool {
        self.pools.iter().all(|pool| pool.health().is_given_up())
    }

    /// Whether executors leave processors to workers of triage.
    pub const fn executors_yield(&self) -> bool {
        self.executors_yield
    }

    /// The variant that all workers serve.
    pub fn variant(&self) -> &Variant {
        self.pools[0].variant()
    }

    /// The variant that all workers serve, as it was trusted.
    pub fn trusted_variant(&self) -> &TrustedVariant {
        self.pools[0].trusted_variant()
    }

    /// The pools, one per device.
    pub fn pools(&self) -> &[Arc<WorkerPool>] {
        &self.pools
    }

    /// How busy the executors are.
    pub(crate) const fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// How a worker is watched that runs many cases: it is suspected if it takes much longer than others did.
    pub(crate) fn watch(&self) -> Watch {
        Watch::Usual(Arc::clone(&self.times))
    }

    /// Everything that keeps idle workers.
    pub(crate) fn idle(&self) -> &IdleRegistry {
        self.pools[0].idle()
    }

    /// How long a worker takes to start; zero before one has.
    pub fn start_time(&self) -> Duration {
        self.pools.iter().map(|pool| pool.start_time()).max().unwrap_or_default()
    }

    /// Whether the workers use devices; false before one has started.
    pub fn is_on_devices(&self) -> bool {
        self.pools.iter().any(|pool| pool.occupancy().is_some())
    }

    /// Whether the workers use devices and every one of them is given up.
    pub fn has_lost_all_devices(&self) -> bool {
        let is_on_devices = self.is_on_devices() || self.pools.iter().all(|pool| pool.device().is_some());
        is_on_devices && self.pools.iter().all(|pool| pool.health().is_given_up())
    }

    /// The pool of one device after the other, leaving out those that are given up as long as there is another one.
    pub fn next(&self) -> &Arc<WorkerPool> {
        self.in_turn().find(|pool| !pool.health().is_given_up()).unwrap_or(&self.pools[0])
    }

    /// A pool of another device than that of `pool`; `None` if all others are given up.
    pub fn other_than(&self, pool: &Arc<WorkerPool>) -> Option<&Arc<WorkerPool>> {
        self.in_turn().find(|other| !Arc::ptr_eq(other, pool) && !other.health().is_given_up())
    }

    /// Every pool once, beginning with another one at each call.
    fn in_turn(&self) -> impl Iterator<Item = &Arc<WorkerPool>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.pools.iter().cycle().skip(turn % self.pools.len()).take(self.pools.len())
    }

    /// Does `work` with the pool of a device, and with that of another one if no worker starts there.
    pub fn on_any<T>(
        &self,
        work: impl Fn(&Arc<WorkerPool>) -> Result<T, WorkerError>,
    ) -> Result<T, WorkerError> {
        let mut pool = self.next();
        loop {
            match (work(pool), self.other_than(pool)) {
                (Err(_), Some(other)) if pool.health().is_given_up() => pool = other,
                (result, _) => return result,
            }
        }
    }

    /// Takes a worker for a single case that has run nothing, on any device.
    pub fn take(&self, priority: Priority) -> Result<WorkerProcess, WorkerError> {
        self.on_any(|pool| pool.take(priority))
    }

    /// Runs `task` in fresh workers until the result is the case's own doing: a case that ends its workers on one device has to end
    /// them on another one too, if there is one.
    pub fn try_fresh(&self, task: &Task, suspicion: Option<&Loss>) -> Result<Trial, WorkerError> {
        self.on_any(|pool| {
            let trial = pool.try_fresh(task, suspicion, Priority::Needed)?;
            let Some(other) = self.other_than(pool).filter(|_| trial.is_lost()) else { return Ok(trial) };
            let elsewhere = other.try_fresh(task, None, Priority::Needed)?;
            if elsewhere.is_lost() {
                return Ok(trial);
            }
            pool.health().record_failure();
            Ok(elsewhere)
        })
    }

    /// The pool of the device with the fewest executors.
    pub fn least_busy(&self) -> &Arc<WorkerPool> {
        let usable = self.pools.iter().filter(|pool| !pool.health().is_given_up());
        usable.min_by_key(|pool| pool.executors()).unwrap_or(&self.pools[0])
    }

    /// Executors on all devices, including those that wait for their first worker.
    pub fn executors(&self) -> usize {
        self.pools.iter().map(|pool| pool.executors()).sum()
    }

    /// Executors that wait for their first worker.
    pub fn starting_executors(&self) -> usize {
        self.pools.iter().map(|pool| pool.starting_executors()).sum()
    }

    /// The pool of each of `jobs` executors: at least one per device, and exactly one if workers use their device exclusively.
    pub fn pools_for(&self, jobs: usize, device_use: DeviceUse) -> impl Iterator<Item = &Arc<WorkerPool>> {
        let devices = self.pools.len();
        let executors = match device_use {
            DeviceUse::Shared => jobs.max(devices),
            DeviceUse::Alone => devices,
        };
        self.pools.iter().cycle().take(executors)
    }

    /// Measures the memory of a worker that has run cases.
    pub fn record_footprint(&self, worker: &WorkerProcess) {
        let bytes = memory::private_bytes(worker.pid()).unwrap_or(0);
        self.footprint.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The most bytes that a worker was seen to hold; `None` before one has run cases.
    pub fn footprint(&self) -> Option<u64> {
        Some(self.footprint.load(Ordering::Relaxed)).filter(|footprint| *footprint > 0)
    }

    /// An event for each device that was given up since the last call.
    pub fn newly_given_up(&self) -> impl Iterator<Item = Event> {
        self.pools.iter().filter(|_| self.pools.len() > 1).filter_map(|pool| {
            Some(Event::DeviceGivenUp {
                reason: pool.health().newly_given_up()?.to_owned(),
                variant: self.variant().clone(),
                device: pool.device()?.to_owned(),
            })
        })
    }
}

/// Starts a worker of each pool, all at once, and returns them in the order of the pools.
pub fn start_all(pools: Vec<Vec<&Arc<WorkerPool>>>) -> Result<Vec<Vec<WorkerProcess>>, WorkerError> {
    thread::scope(|scope| {
        let start = |pool: &Arc<WorkerPool>| {
            let pool = Arc::clone(pool);
            scope.spawn(move || pool.take(Priority::Executor))
        };
        let starting: Vec<Vec<_>> =
            pools.into_iter().map(|pools| pools.into_iter().map(start).collect()).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err(WorkerError::Supervisor("a starting thread panicked".to_owned())))
        };
        starting.into_iter().map(|threads| threads.into_iter().map(join).collect()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_devices() -> DevicePools {
        let host = HostContext::start();
        let pool = || {
            let variant = TrustedVariant::vouch("ort:cpu".parse().unwrap());
            let (command, deadlines) = (WorkerCommand::new("twinfer"), Deadlines::default());
            Arc::new(WorkerPool::new(variant, command, deadlines, &host, SparePolicy::default()))
        };
        DevicePools::of(vec![pool(), pool()])
    }

    #[test]
    fn other_device_is_found_however_many_threads_ask() {
        let pools = &two_devices();
        let asks = &|pool: &Arc<WorkerPool>| (0..10_000).all(|_| pools.other_than(pool).is_some());
        let all_found = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|thread| scope.spawn(move || asks(&pools.pools()[thread % 2]))).collect();
            threads.into_iter().all(|thread| thread.join().unwrap())
        });
        assert!(all_found);
        pools.pools()[1].health().give_up("lost".to_owned());
        assert!(pools.other_than(&pools.pools()[0]).is_none());
        assert!(pools.other_than(&pools.pools()[1]).is_some());
    }
}
