pub mod spares;
mod starter;
pub mod trial;

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tracing::{debug, warn};
use twinfer_case::{Description, Task, TrustedVariant, Variant};

use self::{
    spares::{SparePolicy, SpareRequest, Spares, StartingSpare},
    starter::{PLACE_PATIENCE, Started, Starter},
    trial::{Trial, lost, observe},
};
use crate::{
    device::{Device, health::DeviceHealth, occupancy::Occupancy},
    error::WorkerError,
    host_context::HostContext,
    idle::IdleRegistry,
    loss::Loss,
    process::{
        SLOW_START, Watch, WorkerProcess, accounting::WorkKind, command::WorkerCommand, deadline::Deadlines,
    },
    semaphore::Priority,
    worker_memory::WorkerMemory,
};

/// Attempts before SIGKILL, which comes from outside, counts against a start or a case.
pub const ATTEMPTS: usize = 4;

/// Pauses between attempts to start a worker. A device that serves a limited number of processes has room once another one
/// has ended, and a service that ended the contexts of all takes a second to come back.
const PAUSES: [Duration; ATTEMPTS - 1] =
    [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(4)];

/// Pause between attempts to start a worker on a device that serves no further process.
const FULL_PAUSE: Duration = Duration::from_secs(1);

/// Starts the workers of one variant on one device, and keeps spares, since starting a worker can take seconds.
pub struct WorkerPool {
    starter: Starter,
    spares: Arc<Spares>,
    /// The description that the first worker gave, or that is expected of it.
    description: OnceLock<Description>,
    health: DeviceHealth,
    /// Executors on this device, including those that wait for their first worker.
    executors: AtomicUsize,
    starting_executors: AtomicUsize,
    /// The device's memory; `None` before a worker has started, and without a device.
    occupancy: Mutex<Option<Occupancy>>,
}

impl WorkerPool {
    /// A pool without workers yet.
    pub fn new(
        variant: TrustedVariant,
        command: WorkerCommand,
        deadlines: Deadlines,
        host: &HostContext,
        policy: SparePolicy,
    ) -> Self {
        Self::of(Starter::new(variant, command, deadlines, host), Spares::new(policy))
    }

    /// A pool of workers on the same device that start with other `memory`. It keeps only spares that are requested.
    #[must_use]
    pub fn with_memory(&self, memory: WorkerMemory) -> Self {
        let spares = self.spares.of_others(SparePolicy { least: 0, ..self.spares.policy() });
        Self::of(self.starter.with_memory(memory), spares)
    }

    fn of(starter: Starter, spares: Spares) -> Self {
        let spares = Arc::new(spares);
        starter.idle.add(&spares);
        Self {
            starter,
            spares,
            description: OnceLock::new(),
            health: DeviceHealth::default(),
            executors: AtomicUsize::new(0),
            starting_executors: AtomicUsize::new(0),
            occupancy: Mutex::default(),
        }
    }

    /// Expects workers to describe themselves like this, if none has started yet: one that does not is refused.
    pub fn expect(&self, description: &Description) {
        self.description.get_or_init(|| description.clone());
    }

    /// Starts workers on `device`, which other pools may share. Workers see no other device if it has a name.
    #[must_use]
    pub fn on_device(mut self, device: Arc<Device>) -> Self {
        self.starter.device = device;
        self
    }

    /// The variant that the workers serve.
    pub fn variant(&self) -> &Variant {
        &self.starter.variant
    }

    /// The variant that the workers serve, as it was trusted.
    pub const fn trusted_variant(&self) -> &TrustedVariant {
        &self.starter.variant
    }

    /// The name of the only GPU that the workers see; `None` if they see all.
    pub fn device(&self) -> Option<&str> {
        self.starter.device.name()
    }

    /// Everything that keeps idle workers.
    pub(crate) const fn idle(&self) -> &IdleRegistry {
        &self.starter.idle
    }

    /// Whether workers can work on the device.
    pub const fn health(&self) -> &DeviceHealth {
        &self.health
    }

    /// Takes a worker that has run nothing: a spare, also one that is still starting if no other thread has a better claim to it, or one
    /// that is started now.
    pub fn take(self: &Arc<Self>, priority: Priority) -> Result<WorkerProcess, WorkerError> {
        let begun = Instant::now();
        let spare = self.spares.take(priority);
        let is_spare = spare.is_some();
        let worker = spare.map_or_else(|| self.start(priority), Ok)?;
        debug!(
            variant = self.variant().to_string(),
            pid = worker.pid(),
            is_spare,
            ?priority,
            waited_millis = begun.elapsed().as_millis() as u64,
            "worker taken"
        );
        let is_for_cases = priority == Priority::Executor;
        worker.set_kind(if is_for_cases { WorkKind::Cases } else { WorkKind::Investigations });
        self.refill();
        Ok(worker)
    }

    /// How long the last worker took to start; zero before one has.
    pub fn start_time(&self) -> Duration {
        self.spares.start_time()
    }

    /// Expects workers to take long to start, before one has shown how long.
    pub fn expect_slow_start(&self) {
        if self.start_time().is_zero() {
            self.spares.record_start(SLOW_START);
        }
    }

    /// Starts `workers` spares that will be needed soon, if workers take long to start.
    pub fn request_spares(self: &Arc<Self>, workers: usize) -> SpareRequest {
        let request = self.spares.request(workers);
        self.refill();
        request
    }

    /// Runs `task` in fresh workers until the result is the case's own doing.
    ///
    /// A crash or a hang counts if it happens to a worker that has run nothing else and confirms `suspicion` or an earlier
    /// attempt. That a stage took much longer than with other cases is a suspicion of a hang. SIGKILL, which comes from outside, has to
    /// recur at every one of four attempts.
    pub fn try_fresh(
        self: &Arc<Self>,
        task: &Task,
        suspicion: Option<&Loss>,
        priority: Priority,
    ) -> Result<Trial, WorkerError> {
        let is_suspected = suspicion == Some(&Loss::Suspected);
        let mut earlier = suspicion.filter(|_| !is_suspected).cloned();
        let mut killed = 0;
        loop {
            let mut worker = self.take(priority)?;
            worker.watch(if is_suspected { Watch::Trial } else { Watch::Deadlines });
            let (stage, loss) = match observe(&mut worker, task) {
                Ok(observation) => {
                    let survivor = Some(worker).filter(|worker| !worker.is_spent());
                    return Ok(Trial { observation, survivor });
                }
                Err(loss) => loss,
            };
            killed += usize::from(loss.is_from_outside());
            let is_confirmed = match &loss {
                loss if loss.is_from_outside() => killed >= ATTEMPTS,
                Loss::TimedOut if is_suspected => true,
                _ => earlier.is_some(),
            };
            if is_confirmed {
                let observation = lost(&self.starter.variant, stage, &loss)?;
                return Ok(Trial { observation, survivor: None });
            }
            earlier = Some(loss);
        }
    }

    /// Starts a worker, and gives up the device if none starts.
    fn start(&self, priority: Priority) -> Result<WorkerProcess, WorkerError> {
        let (begun, mut pauses) = (Instant::now(), PAUSES.into_iter());
        loop {
            let error = match self.starter.start(priority).and_then(|started| self.accept(started)) {
                Ok(worker) => return Ok(worker),
                Err(error) => error,
            };
            if self.starter.is_shut_down() {
                return Err(error);
            }
            // if no worker has ever started, waiting does not help
            let has_started = self.description.get().is_some();
            let is_full = matches!(error, WorkerError::FullDevice { .. });
            let pause = if has_started && is_full && begun.elapsed() < PLACE_PATIENCE {
                FULL_PAUSE
            } else if let Some(pause) = pauses.next() {
                pause
            } else {
                self.give_up_device(&error);
                return Err(error);
            };
            if has_started {
                // another program may use the device too
                self.starter.make_room();
                thread::sleep(pause);
            }
        }
    }

    fn give_up_device(&self, error: &WorkerError) {
        let (variant, reason) = (self.variant().to_string(), error.to_string());
        warn!(variant, device = self.device(), reason, "no worker starts");
        self.health.give_up(reason);
    }

    /// Starts spares until there are enough.
    fn refill(self: &Arc<Self>) {
        while let Some(spare) = self.spares.begin_start() {
            let pool = Arc::clone(self);
            if thread::Builder::new().spawn(move || pool.start_spare(spare)).is_err() {
                break;
            }
        }
    }

    /// Starts a spare. If it fails, the thread that needs a worker starts one itself and reports the error.
    fn start_spare(&self, mut spare: StartingSpare) {
        let Some(started) = self.starter.start_spare(|| spare.spawn()) else { return };
        let variant = self.variant().to_string();
        match started.and_then(|started| self.accept(started)) {
            Ok(worker) => {
                debug!(variant, pid = worker.pid(), "spare ready");
                spare.ready(worker);
            }
            Err(error) => debug!(variant, reason = error.to_string(), "spare did not start"),
        }
    }

    /// Notes how long the worker took to start and the memory of its device; an error if it is not what the first one was.
    fn accept(&self, Started { worker, took }: Started) -> Result<WorkerProcess, WorkerError> {
        self.spares.record_start(took);
        self.check_description(&worker)?;
        self.record_occupancy(&worker);
        Ok(worker)
    }

    /// Rejects a worker that is not what the first one was: its verdicts would be about something else.
    fn check_description(&self, worker: &WorkerProcess) -> Result<(), WorkerError> {
        let (first, now) =
            (self.description.get_or_init(|| worker.description().clone()), worker.description());
        if first == now {
            return Ok(());
        }
        let outline = |one: &Description| format!("{} {}, as far as {}", one.name, one.version, one.reaches);
        let reason = format!(
            "it is {} and should be {}: its library or its device has changed",
            outline(now),
            outline(first)
        );
        Err(WorkerError::Worker { variant: self.variant().clone(), reason })
    }

    fn record_occupancy(&self, worker: &WorkerProcess) {
        let mut occupancy = self.occupancy.lock().unwrap_or_else(PoisonError::into_inner);
        let workers = self.starter.device.workers();
        *occupancy = worker.device_memory().map(|memory| Occupancy::measured(memory, workers, *occupancy));
    }

    /// The memory of the device and the workers on it; `None` before a worker has started, and without a device.
    pub fn occupancy(&self) -> Option<Occupancy> {
        let measured = *self.occupancy.lock().unwrap_or_else(PoisonError::into_inner);
        let (starting, workers) = (self.starting_executors(), self.starter.device.workers());
        measured.map(|measured| Occupancy { starting, workers, ..measured })
    }

    /// Counts an executor on this device.
    pub fn add_executor(&self) {
        self.executors.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an executor whose first worker is still to be [taken](Self::take_first).
    pub fn add_starting_executor(&self) {
        self.add_executor();
        self.starting_executors.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the first worker of a starting executor. If none starts, the executor does not count any more.
    pub fn take_first(self: &Arc<Self>) -> Result<WorkerProcess, WorkerError> {
        let worker = self.take(Priority::Added);
        self.starting_executors.fetch_sub(1, Ordering::Relaxed);
        if worker.is_err() {
            self.executors.fetch_sub(1, Ordering::Relaxed);
        }
        worker
    }

    /// Executors on this device, including those that wait for their first worker.
    pub fn executors(&self) -> usize {
        self.executors.load(Ordering::Relaxed)
    }

    /// Executors that wait for their first worker.
    pub fn starting_executors(&self) -> usize {
        self.starting_executors.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a device on which no worker starts is given up, during a campaign or after it.
    fn is_given_up(is_over: bool) -> bool {
        let host = HostContext::start();
        if is_over {
            host.kill_workers();
        }
        // a name that no program can have: a forked process would share the locks that other tests hold
        let variant = TrustedVariant::vouch("ort:cpu".parse().unwrap());
        let command = WorkerCommand::new("no\0program");
        let pool = WorkerPool::new(variant, command, Deadlines::default(), &host, SparePolicy::default());
        let pool = Arc::new(pool);
        assert!(pool.take(Priority::Executor).is_err());
        pool.health().is_given_up()
    }

    #[test]
    fn failed_start_gives_up_the_device_during_a_campaign() {
        assert!(is_given_up(false));
        assert!(!is_given_up(true), "all workers were killed at the end");
    }
}
