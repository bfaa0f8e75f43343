mod filled_workers;
mod fresh_worker;
mod repeated;
mod repeats_filled;

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tracing::{debug, warn};
use twinfer_case::{DeviceUse, EncodedCase, Observation, PoisonPattern, Task, VariantInfo};

use self::{
    filled_workers::FilledWorkers,
    repeated::{repeat, take_after},
};
pub use self::{fresh_worker::FreshWorker, repeated::RepeatedRun};
use crate::{
    device_pools::DevicePools,
    error::WorkerError,
    idle::IdleWorkers,
    loss::Loss,
    pool::{
        ATTEMPTS, WorkerPool,
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
    /// The workers that confirm, if they differ from those that screen.
    confirming: Option<(VariantInfo, Arc<DevicePools>)>,
    /// Workers with memory filled with [`PoisonPattern::Nan`] and [`PoisonPattern::Large`].
    filled: [FilledWorkers; 2],
    /// Idle workers that have run cases.
    warm: Arc<IdleWorkers>,
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
        let (warm, sequential) = (Arc::new(IdleWorkers::default()), SequentialWorkers::default());
        let filled: [FilledWorkers; 2] = Default::default();
        let registry = pools.idle();
        registry.add(&warm);
        for filled in &filled {
            registry.add(filled.warm.idle());
        }
        sequential.register(registry);
        Self {
            info,
            pools,
            confirming: None,
            filled,
            warm,
            sequential,
            limit,
            leases: AtomicUsize::new(0),
            warm_permits: Semaphore::new("warm workers", limit.get()),
            busy: Arc::new(Semaphore::new("busy workers", busy)),
        }
    }

    /// Adds a worker for [`observe_in_sequence`](Self::observe_in_sequence), if there is one already.
    #[must_use]
    pub fn with_sequential(self, worker: Option<WorkerProcess>) -> Self {
        if let Some(worker) = worker {
            self.sequential.add(worker);
        }
        self
    }

    /// Has cases confirmed in workers that leave memory untouched, if those that screen cases keep it.
    #[must_use]
    pub fn confirming_without_kept_memory(self) -> Self {
        let pools = self.pools.confirming();
        if Arc::ptr_eq(&pools, &self.pools) {
            return self;
        }
        let info = VariantInfo { variant: pools.variant().clone(), ..self.info.clone() };
        Self { confirming: Some((info, pools)), ..self }
    }

    /// Bounds the busy workers by a semaphore that other variants share.
    #[must_use]
    pub fn with_semaphore(self, busy: &Arc<Semaphore>) -> Self {
        Self { busy: Arc::clone(busy), ..self }
    }

    /// Starts one worker of `pool`; no more than one is busy at a time.
    pub fn start(pool: Arc<WorkerPool>) -> Result<Self, WorkerError> {
        let worker = pool.take(Priority::Needed)?;
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

    /// The variant that fresh workers serve, and its backend's description.
    pub fn confirming_info(&self) -> &VariantInfo {
        self.confirming.as_ref().map_or(&self.info, |(info, _)| info)
    }

    fn confirming_pools(&self) -> &Arc<DevicePools> {
        self.confirming.as_ref().map_or(&self.pools, |(_, pools)| pools)
    }

    /// Starts the workers that repeats of a case will need, if they take long to start: so many fresh ones, and one with each filling.
    pub fn request_repeats(&self, fresh: usize) -> Vec<SpareRequest> {
        let is_needed = |pattern: &PoisonPattern| self.filled(*pattern).warm.is_empty();
        let filled = PoisonPattern::ALL.into_iter().filter(is_needed);
        let filled = filled.map(|pattern| self.filled_pools(pattern).next().request_spares(1));
        filled.chain([self.confirming_pools().next().request_spares(fresh)]).collect()
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

    /// Runs a case in a worker that has run nothing else, and that [confirms](Self::confirming_info).
    pub fn observe_fresh(&self, task: &Task) -> Result<Observation, WorkerError> {
        let _busy = self.busy.acquire(Priority::Needed);
        let trial = self.confirming_pools().try_fresh(task, None)?;
        if self.confirming.is_none() {
            self.keep_warm(trial.survivor);
        }
        Ok(trial.observation)
    }

    /// Runs a case `times` times in one worker that has run `history` and nothing else. A worker that a run ends is replaced; a
    /// run that hangs is the last. Without a `filling` the worker is one that [confirms](Self::confirming_info).
    ///
    /// Gives fewer runs, or none, if no worker starts with memory filled.
    pub fn repeat(
        &self,
        filling: Option<PoisonPattern>,
        history: &[Arc<EncodedCase>],
        task: &Task,
        times: usize,
    ) -> Result<Vec<RepeatedRun>, WorkerError> {
        self.repeat_from(filling, history, task, times, || {})
    }

    /// As [`repeat`](Self::repeat); `started` is called when a worker has started.
    fn repeat_from(
        &self,
        filling: Option<PoisonPattern>,
        history: &[Arc<EncodedCase>],
        task: &Task,
        times: usize,
        started: impl FnMut(),
    ) -> Result<Vec<RepeatedRun>, WorkerError> {
        let unfilled = || Arc::clone(self.confirming_pools());
        let pools = filling.map_or_else(unfilled, |pattern| self.filled_pools(pattern));
        if self.only_fillings_are_refused(filling)? {
            return Ok(Vec::new());
        }
        let _busy = self.busy.acquire(Priority::Needed);
        match repeat(&pools, history, task, times, started) {
            Err(error) => {
                if !self.only_fillings_are_refused(filling)? {
                    return Err(error);
                }
                let (variant, reason) = (pools.variant().to_string(), error.to_string());
                warn!(variant, reason, "no worker starts with memory filled: cases are repeated without");
                Ok(Vec::new())
            }
            Ok((runs, survivor)) => {
                if let Some(pattern) = filling {
                    self.keep_filled(pattern, survivor);
                }
                Ok(runs)
            }
        }
    }

    /// Runs a case in a worker that has run one before: others, or this one if no such worker is idle. One that ends the worker runs again
    /// in a fresh one, and what happens there counts.
    pub fn observe_warm(&self, task: &Task) -> Result<Observation, WorkerError> {
        self.observe_in_warm(task, |_| false)
    }

    /// As [`observe_warm`](Self::observe_warm), but a crash and a passed deadline count at once: each costs a worker, and holds up others on
    /// its device. What comes of such observations has to be confirmed.
    pub fn observe_warm_once(&self, task: &Task) -> Result<Observation, WorkerError> {
        self.observe_in_warm(task, Loss::is_of_case)
    }

    /// A loss that `counts` is the result; the case runs again in a fresh worker after any other.
    fn observe_in_warm(
        &self,
        task: &Task,
        counts: impl Fn(&Loss) -> bool,
    ) -> Result<Observation, WorkerError> {
        let begun = Instant::now();
        let _warm = self.warm_permits.acquire(Priority::Needed);
        let _busy = self.busy.acquire(Priority::Needed);
        let idle = self.warm.pop();
        let is_new = idle.is_none();
        let mut worker = idle.map_or_else(|| self.pools.take(self.priority_of_warm()), Ok)?;
        worker.watch(self.pools.watch());
        self.log_wait(begun, "triage waited for a warm worker");
        let warmed_up = if is_new { observe(&mut worker, task).map(drop) } else { Ok(()) };
        match warmed_up.and_then(|()| observe(&mut worker, task)) {
            Ok(observation) => {
                self.keep_warm(Some(worker));
                Ok(observation)
            }
            Err((stage, loss)) if counts(&loss) => lost(&self.info.variant, stage, &loss),
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
        self.sequential.observe(&self.pools, &self.busy, index, task)
    }

    /// Runs a case in a worker that has run `history` and nothing else; `None` if one of those cases ends the worker, or
    /// something outside ends several.
    pub fn observe_after(
        &self,
        history: &[Arc<EncodedCase>],
        case: &EncodedCase,
    ) -> Result<Option<Observation>, WorkerError> {
        let history: Vec<_> = history.iter().map(|earlier| &earlier.task).collect();
        let _busy = self.busy.acquire(Priority::Needed);
        for _ in 0..ATTEMPTS {
            let taken = take_after(self.confirming_pools(), &history)?;
            let Some((_, mut worker)) = taken else { return Ok(None) };
            match observe(&mut worker, &case.task) {
                Ok(observation) => return Ok(Some(observation)),
                Err((_, loss)) if loss.is_from_outside() => {}
                Err((stage, loss)) => return lost(&self.info.variant, stage, &loss).map(Some),
            }
        }
        Ok(None)
    }

    /// How urgently a warm worker is needed: without a second one, cases only run one after the other.
    fn priority_of_warm(&self) -> Priority {
        let (taken, _) = self.warm_permits.taken_and_awaited();
        if taken > 1 { Priority::Added } else { Priority::Needed }
    }

    fn log_wait(&self, begun: Instant, what: &str) {
        let waited = begun.elapsed();
        if waited >= LONG_WAIT {
            let (variant, millis) = (self.info.variant.to_string(), waited.as_millis() as u64);
            debug!(variant, millis, "{what}");
        }
    }

    fn keep_warm(&self, worker: Option<WorkerProcess>) {
        self.keep(&self.warm, self.limit.get(), worker);
    }

    /// Keeps a worker for more cases, unless `most` are idle already, or as many as can be busy.
    fn keep(&self, idle: &IdleWorkers, most: usize, worker: Option<WorkerProcess>) {
        let has_room = idle.len() < most.min(self.limit.get());
        if let Some(worker) = worker.filter(|worker| has_room && !worker.is_spent()) {
            idle.push(worker);
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
