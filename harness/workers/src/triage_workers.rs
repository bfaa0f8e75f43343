use std::{
    num::NonZeroUsize,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tracing::{debug, warn};
use twinfer_case::{DeviceUse, EncodedCase, Observation, Outcome, PoisonPattern, Stage, Task, VariantInfo};

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
    turns::WorkersInTurn,
    worker_memory::WorkerMemory,
};

/// The most workers per device that triage keeps busy: each takes seconds to start, and memory of the device.
const LIMIT_PER_DEVICE: usize = 4;

/// The most idle workers with memory filled with one pattern: few cases need them, and each takes a place on its device.
const MOST_FILLED: usize = 2;

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

/// Workers with memory filled with one pattern.
#[derive(Default)]
struct FilledWorkers {
    /// Set once a worker is needed.
    pools: OnceLock<Arc<DevicePools>>,
    /// Set once none starts although one starts without a filling.
    are_refused: OnceLock<()>,
    /// Workers that have run cases.
    warm: WorkersInTurn,
}

/// One run of a case that is [repeated](TriageWorkers::repeat).
pub struct RepeatedRun {
    /// What the variant did with the case.
    pub observation: Observation,
    /// Whether the worker had run a case before.
    pub is_warm: bool,
}

/// A worker that had run nothing before the tasks that it is given here, and that [confirms](TriageWorkers::confirming_info). It starts with
/// the first of them.
pub struct FreshWorker<'a> {
    workers: &'a TriageWorkers,
    process: Option<WorkerProcess>,
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

    const fn filled(&self, pattern: PoisonPattern) -> &FilledWorkers {
        let [nan, large] = &self.filled;
        match pattern {
            PoisonPattern::Nan => nan,
            PoisonPattern::Large => large,
        }
    }

    fn filled_pools(&self, pattern: PoisonPattern) -> &DevicePools {
        let uses_cuda = self.info.variant.backend.loads_cuda_runtime();
        // without a device that executes, a backend only builds, in memory of the host
        let memory = if uses_cuda && self.info.description.reaches == Stage::Execute {
            WorkerMemory::Filled(pattern)
        } else {
            WorkerMemory::HostFilled(pattern)
        };
        self.filled(pattern).pools.get_or_init(|| self.confirming_pools().with_memory(memory))
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

    /// A worker for several tasks that belong together.
    pub const fn fresh(&self) -> FreshWorker<'_> {
        FreshWorker { workers: self, process: None }
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
        let pools = filling.map_or_else(|| &**self.confirming_pools(), |pattern| self.filled_pools(pattern));
        if self.only_fillings_are_refused(filling)? {
            return Ok(Vec::new());
        }
        let _busy = self.busy.acquire(Priority::Needed);
        match repeat(pools, history, task, times, started) {
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
                    self.keep(self.filled(pattern).warm.idle(), MOST_FILLED, survivor);
                }
                Ok(runs)
            }
        }
    }

    /// Whether no worker starts with this filling although one starts without.
    ///
    /// If none starts without either, that is an error: what prevents it is no property of the filling, and a case that was not repeated may
    /// not count as one that was.
    fn only_fillings_are_refused(&self, filling: Option<PoisonPattern>) -> Result<bool, WorkerError> {
        let Some(pattern) = filling.filter(|pattern| self.filled_pools(*pattern).are_given_up()) else {
            return Ok(false);
        };
        let are_refused = &self.filled(pattern).are_refused;
        if are_refused.get().is_none() {
            take(self.confirming_pools())?;
            are_refused.get_or_init(|| ());
        }
        Ok(true)
    }

    /// Runs a case `times` times in a worker with memory filled, one that has run others if there is one; in a new one if the case ends
    /// that.
    ///
    /// Gives fewer runs, or none, if no worker starts with memory filled.
    pub fn repeat_filled(
        &self,
        pattern: PoisonPattern,
        task: &Task,
        times: usize,
    ) -> Result<Vec<RepeatedRun>, WorkerError> {
        let begun = Instant::now();
        let (mut turn, idle) = self.filled(pattern).warm.take(self.filled_pools(pattern).start_time());
        self.log_wait(begun, "triage waited for a worker with memory filled");
        match idle.and_then(|worker| self.repeat_in_warm_filled(worker, pattern, task, times)) {
            Some(runs) => Ok(runs),
            None => self.repeat_from(Some(pattern), &[], task, times, || turn.started()),
        }
    }

    /// `None` if the case ends the worker.
    fn repeat_in_warm_filled(
        &self,
        mut worker: WorkerProcess,
        pattern: PoisonPattern,
        task: &Task,
        times: usize,
    ) -> Option<Vec<RepeatedRun>> {
        let _busy = self.busy.acquire(Priority::Needed);
        let run = |observation| RepeatedRun { observation, is_warm: true };
        let runs = (0..times).map(|_| observe(&mut worker, task).map(run)).collect::<Result<_, _>>().ok();
        self.keep(self.filled(pattern).warm.idle(), MOST_FILLED, runs.is_some().then_some(worker));
        runs
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
    /// something outside does.
    pub fn observe_after(
        &self,
        history: &[Arc<EncodedCase>],
        case: &EncodedCase,
    ) -> Result<Option<Observation>, WorkerError> {
        let history: Vec<_> = history.iter().map(|earlier| &earlier.task).collect();
        let taken = take_after(self.confirming_pools(), &history)?;
        let Some((_, mut worker)) = taken else { return Ok(None) };
        match observe(&mut worker, &case.task) {
            Ok(observation) => Ok(Some(observation)),
            Err((_, loss)) if loss.is_from_outside() => Ok(None),
            Err((stage, loss)) => lost(&self.info.variant, stage, &loss).map(Some),
        }
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

/// A worker that has run `earlier` and nothing else, with its pool; `None` if one of those cases ends it.
fn take_after(
    pools: &DevicePools,
    earlier: &[&Task],
) -> Result<Option<(Arc<WorkerPool>, WorkerProcess)>, WorkerError> {
    for _ in 0..ATTEMPTS {
        let (pool, mut worker) = take(pools)?;
        match earlier.iter().find_map(|task| observe(&mut worker, task).err()) {
            None => return Ok(Some((pool, worker))),
            Some((_, loss)) if loss.is_from_outside() => {}
            Some(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// A worker that has run nothing, with its pool.
fn take(pools: &DevicePools) -> Result<(Arc<WorkerPool>, WorkerProcess), WorkerError> {
    pools.on_any(|pool| Ok((Arc::clone(pool), pool.take(Priority::Needed)?)))
}

/// Runs a case `times` times, each time in the worker of the run before, as long as that one lives; with the last worker if it still does.
/// `started` is called whenever a worker is there.
fn repeat(
    pools: &DevicePools,
    history: &[Arc<EncodedCase>],
    task: &Task,
    times: usize,
    mut started: impl FnMut(),
) -> Result<(Vec<RepeatedRun>, Option<WorkerProcess>), WorkerError> {
    let history: Vec<_> = history.iter().map(|earlier| &earlier.task).collect();
    let (mut earlier, mut runs, mut survivor, mut killed) = (history.clone(), Vec::new(), None, 0);
    while runs.len() < times {
        let (pool, mut worker, is_warm) = if let Some((pool, worker)) = survivor.take() {
            (pool, worker, true)
        } else if let Some((pool, worker)) = take_after(pools, &earlier)? {
            (pool, worker, !earlier.is_empty())
        } else {
            let (pool, worker) = take(pools)?;
            (pool, worker, false)
        };
        started();
        earlier.clone_from(&history);
        match observe(&mut worker, task) {
            Ok(observation) => {
                runs.push(RepeatedRun { observation, is_warm });
                survivor = Some((pool, worker)).filter(|(_, worker)| !worker.is_spent());
            }
            Err((_, loss)) if loss.is_from_outside() && killed + 1 < ATTEMPTS => {
                killed += 1;
                // the next worker is to be as warm as this one
                earlier.extend(is_warm.then_some(task));
            }
            Err((stage, loss)) => {
                drop(worker);
                let (observation, is_warm) = match runs_elsewhere(pools, &pool, task)? {
                    Some(observation) => (observation, false),
                    None => (lost(pools.variant(), stage, &loss)?, is_warm),
                };
                let has_hung = observation.outcome == Outcome::TimedOut;
                runs.push(RepeatedRun { observation, is_warm });
                if has_hung {
                    break;
                }
            }
        }
    }
    Ok((runs, survivor.map(|(_, worker)| worker)))
}

/// What a case that ends its worker does on another device than that of `pool`; `None` if it ends its worker there too, or if
/// there is no other device.
fn runs_elsewhere(
    pools: &DevicePools,
    pool: &Arc<WorkerPool>,
    task: &Task,
) -> Result<Option<Observation>, WorkerError> {
    let Some(other) = pools.other_than(pool) else { return Ok(None) };
    let observation = observe(&mut other.take(Priority::Needed)?, task).ok();
    if observation.is_some() {
        pool.health().record_failure();
    }
    Ok(observation)
}

impl FreshWorker<'_> {
    /// Runs a task. One that ends the worker runs again in another one that has run nothing, and what happens there counts.
    pub fn observe(&mut self, task: &Task) -> Result<Observation, WorkerError> {
        let _busy = self.workers.busy.acquire(Priority::Needed);
        if let Some(mut process) = self.process.take()
            && let Ok(observation) = observe(&mut process, task)
        {
            self.process = Some(process).filter(|process| !process.is_spent());
            return Ok(observation);
        }
        let trial = self.workers.confirming_pools().try_fresh(task, None)?;
        self.process = trial.survivor;
        Ok(trial.observation)
    }
}

impl Drop for FreshWorker<'_> {
    fn drop(&mut self) {
        if self.workers.confirming.is_none() {
            self.workers.keep_warm(self.process.take());
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
