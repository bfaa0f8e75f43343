use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tracing::debug;
use twinfer_case::{DeviceUse, EncodedCase, Observation, Task, VariantInfo};

use crate::{
    device_pools::{DevicePools, NicedWorkers},
    error::WorkerError,
    pool::{
        WorkerPool,
        spares::SpareRequest,
        trial::{lost, observe},
    },
    process::WorkerProcess,
    semaphore::{LONG_WAIT, Priority, Semaphore},
    sequential::{SequentialRun, SequentialWorkers},
};

/// The most workers per device that triage keeps busy: each takes seconds to start, and memory of the device.
const LIMIT_PER_DEVICE: usize = 4;

/// The workers that serve one variant besides those of executors: fresh ones, warm ones, and those of a rung.
pub struct TriageWorkers {
    info: VariantInfo,
    pools: Arc<DevicePools>,
    /// Idle workers that have run cases.
    warm: Mutex<Vec<WorkerProcess>>,
    /// The workers of a rung, which has no executors.
    sequential: SequentialWorkers,
    limit: NonZeroUsize,
    /// Minimizations under way, which divide the limit among them.
    leases: AtomicUsize,
    /// Bounds the cases in warm workers to the limit: every one beyond it would start a worker that is dropped afterwards.
    warm_permits: Semaphore,
    /// Bounds the busy workers by the backend's use of devices.
    busy: Arc<Semaphore>,
}

/// A minimization's share of the limit; returned when dropped.
pub struct Lease<'a>(&'a AtomicUsize);

impl TriageWorkers {
    /// At most `limit` busy workers at once, fewer if they use devices.
    pub fn new(info: VariantInfo, pools: Arc<DevicePools>, limit: NonZeroUsize) -> Self {
        let devices = pools.pools().len();
        let (limit, busy) = match info.description.device_use {
            DeviceUse::Alone => (devices, devices),
            DeviceUse::Shared if pools.is_on_devices() => {
                (limit.get().min(LIMIT_PER_DEVICE * devices), usize::MAX)
            }
            DeviceUse::Shared => (limit.get(), usize::MAX),
        };
        let limit = NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN);
        Self {
            info,
            pools,
            warm: Mutex::default(),
            sequential: SequentialWorkers::default(),
            limit,
            leases: AtomicUsize::new(0),
            warm_permits: Semaphore::new("warm workers", limit.get()),
            busy: Arc::new(Semaphore::new("busy workers", busy)),
        }
    }

    /// Adds a worker for [`observe_in_sequence`](Self::observe_in_sequence).
    #[must_use]
    pub fn with_sequential(self, worker: WorkerProcess) -> Self {
        self.sequential.add(worker);
        self
    }

    /// Bounds the busy workers by a semaphore that other variants share.
    #[must_use]
    pub fn with_semaphore(self, busy: &Arc<Semaphore>) -> Self {
        Self { busy: Arc::clone(busy), ..self }
    }

    /// Starts one worker of `pool`; no more than one is busy at a time.
    pub fn start(pool: Arc<WorkerPool>) -> Result<Self, WorkerError> {
        let worker = pool.take()?;
        let info = VariantInfo {
            variant: pool.variant().clone(),
            description: worker.description().clone(),
            rung_of: None,
        };
        let workers = Self::new(info, Arc::new(DevicePools::of(vec![pool])), NonZeroUsize::MIN);
        workers.keep_warm(Some(worker));
        Ok(workers)
    }

    /// The variant and its backend's description.
    pub const fn info(&self) -> &VariantInfo {
        &self.info
    }

    /// Starts `workers` fresh workers that will be needed soon, if they take long to start.
    pub fn request_fresh(&self, workers: usize) -> SpareRequest {
        self.pools.next().request_spares(workers)
    }

    /// The most workers that are busy at once. More investigations than that would only wait for each other's workers.
    pub const fn limit(&self) -> usize {
        self.limit.get()
    }

    /// Takes part in dividing the [`limit`](Self::limit).
    pub fn lease(&self) -> Lease<'_> {
        self.leases.fetch_add(1, Ordering::Relaxed);
        Lease(&self.leases)
    }

    /// How many cases each holder of a [`Lease`] may run at once.
    pub fn limit_per_lease(&self) -> usize {
        (self.limit.get() / self.leases.load(Ordering::Relaxed).max(1)).max(1)
    }

    /// Runs a case in a worker that has run nothing else.
    pub fn observe_fresh(&self, task: &Task) -> Result<Observation, WorkerError> {
        let _busy = self.busy.acquire(Priority::Needed);
        let trial = self.pools.try_fresh(task, None)?;
        self.keep_warm(trial.survivor);
        Ok(trial.observation)
    }

    /// Runs a case in a worker that has run others, if one is idle.
    pub fn observe_warm(&self, task: &Task) -> Result<Observation, WorkerError> {
        let begun = Instant::now();
        let _warm = self.warm_permits.acquire(Priority::Needed);
        let _busy = self.busy.acquire(Priority::Needed);
        let idle = self.warm().pop();
        let mut worker = idle.map_or_else(|| self.pools.take(), Ok)?;
        self.log_wait(begun);
        if self.pools.niced() == NicedWorkers::Triage {
            worker.lower_priority();
        }
        match observe(&mut worker, task) {
            Ok(observation) => {
                self.keep_warm(Some(worker));
                Ok(observation)
            }
            Err((_, loss)) => {
                drop(worker);
                let trial = self.pools.try_fresh(task, Some(&loss))?;
                self.keep_warm(trial.survivor);
                Ok(trial.observation)
            }
        }
    }

    /// Runs the case at `index` in a worker that has run only cases of the campaign, one after the other.
    pub fn observe_in_sequence(&self, index: u64, task: &Task) -> Result<SequentialRun, WorkerError> {
        let _busy = self.busy.acquire(Priority::Needed);
        self.sequential.observe(&self.pools, index, task)
    }

    /// Runs a case in a worker that has run `history` and nothing else; `None` if one of those cases ends the worker, or
    /// something outside does.
    pub fn observe_after(
        &self,
        history: &[Arc<EncodedCase>],
        case: &EncodedCase,
    ) -> Result<Option<Observation>, WorkerError> {
        let mut worker = self.pools.take()?;
        for earlier in history {
            if observe(&mut worker, &earlier.task).is_err() {
                return Ok(None);
            }
        }
        match observe(&mut worker, &case.task) {
            Ok(observation) => Ok(Some(observation)),
            Err((_, loss)) if loss.is_from_outside() => Ok(None),
            Err((stage, loss)) => lost(&self.info.variant, stage, &loss).map(Some),
        }
    }

    fn log_wait(&self, begun: Instant) {
        let waited = begun.elapsed();
        if waited >= LONG_WAIT {
            let (variant, millis) = (self.info.variant.to_string(), waited.as_millis() as u64);
            debug!(variant, millis, "triage waited for a warm worker");
        }
    }

    /// Keeps a worker for more cases, unless there are as many as can be busy.
    fn keep_warm(&self, worker: Option<WorkerProcess>) {
        let mut idle = self.warm();
        let has_room = idle.len() < self.limit.get();
        idle.extend(worker.filter(|worker| has_room && !worker.is_spent()));
    }

    fn warm(&self) -> MutexGuard<'_, Vec<WorkerProcess>> {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
