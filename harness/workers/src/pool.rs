use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use twinfer_case::{Description, LogLine, Observation, Outcome, Severity, Stage, Task, Timing, Variant};

use crate::{
    Deadlines, WorkerError,
    autoscaler::capacity::Occupancy,
    device::Device,
    device::health::Health,
    process::command::WorkerCommand,
    process::deadline::Watchdog,
    process::{Answer, Loss, WorkerProcess},
    semaphore::{Priority, Semaphore},
};

/// The environment variable that names the GPUs which a process sees.
const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// A worker that SIGKILL ends is started, or tried with a case, this many times before that counts.
const PATIENCE: usize = 4;

/// What is waited for before a worker that did not start is started again: a device that serves only so many processes
/// at once has room again when another has ended, and a service that ended the contexts of all takes a second to come back.
const PAUSES: [Duration; PATIENCE - 1] =
    [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(4)];

/// Starts the workers of one variant and keeps spares standing by, since starting one can take seconds.
pub struct WorkerPool {
    variant: Variant,
    command: WorkerCommand,
    device: Arc<Device>,
    deadlines: Deadlines,
    watchdog: Watchdog,
    gate: Arc<Semaphore>,
    reserve: SparePolicy,
    spares: Mutex<Spares>,
    /// Told when a spare stands by, or did not start.
    arrived: Condvar,
    /// What the first of its workers said of itself.
    description: OnceLock<Description>,
    health: Health,
    /// How many lanes it serves, and how many of those wait for their first worker.
    lanes: AtomicUsize,
    starting: AtomicUsize,
    occupancy: Mutex<Option<Occupancy>>,
}

/// How many spares are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct SparePolicy {
    /// At least.
    pub least: usize,
    /// At most: as many as are expected to be needed, where starting one takes seconds, as TensorRT does.
    pub most: usize,
}

/// A start that takes this long is worth starting workers before they are needed.
const SLOW: Duration = Duration::from_millis(500);

/// Workers that will be needed soon, until it is dropped.
pub struct SpareRequest {
    nursery: Arc<WorkerPool>,
    workers: usize,
}

#[derive(Default)]
struct Spares {
    ready: VecDeque<WorkerProcess>,
    starting: usize,
    /// How many of these have passed the gate.
    under_way: usize,
    /// How many of those somebody waits for.
    awaited: usize,
    /// How many will be needed soon.
    expected: usize,
    /// How long the last start took.
    start_time: Duration,
}

/// A spare that is being started; whoever waits is told once it stands by or is not to be had.
struct StartingSpare<'a> {
    nursery: &'a WorkerPool,
    is_under_way: bool,
}

/// What became of a case in a fresh worker.
pub struct Trial {
    /// What was observed; a crash or a hang where that recurred.
    pub observation: Observation,
    /// The worker, where it survived.
    pub survivor: Option<WorkerProcess>,
}

impl Trial {
    /// Whether the case ended its workers.
    pub const fn is_lost(&self) -> bool {
        matches!(self.observation.outcome, Outcome::Crashed(_) | Outcome::TimedOut)
    }
}

impl WorkerPool {
    /// A nursery that keeps spares in `reserve` and starts workers through `gate`.
    pub fn new(
        variant: Variant,
        command: WorkerCommand,
        deadlines: Deadlines,
        watchdog: Watchdog,
        gate: Arc<Semaphore>,
        reserve: SparePolicy,
    ) -> Self {
        Self {
            variant,
            command,
            device: Arc::new(Device::new(None)),
            deadlines,
            watchdog,
            gate,
            reserve,
            spares: Mutex::default(),
            arrived: Condvar::new(),
            description: OnceLock::new(),
            health: Health::default(),
            lanes: AtomicUsize::new(0),
            starting: AtomicUsize::new(0),
            occupancy: Mutex::default(),
        }
    }

    /// The same, whose workers see this device only, if it has a name, and share it with those of others.
    #[must_use]
    pub fn on_device(self, device: Arc<Device>) -> Self {
        Self { device, ..self }
    }

    /// Which variant its workers serve.
    pub const fn variant(&self) -> &Variant {
        &self.variant
    }

    /// Which GPU its workers see, if only one.
    pub fn device(&self) -> Option<&str> {
        self.device.name()
    }

    /// Whether workers can work there.
    pub const fn health(&self) -> &Health {
        &self.health
    }

    /// Counts a lane that it serves.
    pub fn engage(&self) {
        self.lanes.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a lane whose worker is still to be started.
    pub fn engage_soon(&self) {
        self.engage();
        self.starting.fetch_add(1, Ordering::Relaxed);
    }

    /// The first worker of a lane that was counted so; without one there is no lane.
    pub fn take_first(self: &Arc<Self>) -> Option<WorkerProcess> {
        let worker = self.take().ok();
        self.starting.fetch_sub(1, Ordering::Relaxed);
        if worker.is_none() {
            self.lanes.fetch_sub(1, Ordering::Relaxed);
        }
        worker
    }

    /// How many lanes it serves.
    pub fn lanes(&self) -> usize {
        self.lanes.load(Ordering::Relaxed)
    }

    /// How many of those wait for their first worker.
    pub fn starting(&self) -> usize {
        self.starting.load(Ordering::Relaxed)
    }

    /// What its workers say of their device's memory.
    pub fn occupancy(&self) -> Option<Occupancy> {
        let told = *self.occupancy.lock().unwrap_or_else(PoisonError::into_inner);
        told.map(|told| Occupancy { starting: self.starting(), workers: self.device.workers(), ..told })
    }

    /// A worker that has run nothing: a spare, also one whose start is under way and that nobody else waits for, or one started
    /// now.
    pub fn take(self: &Arc<Self>) -> Result<WorkerProcess, WorkerError> {
        let worker = self.spare().map_or_else(|| self.start(), Ok)?;
        self.refill();
        Ok(worker)
    }

    fn spare(&self) -> Option<WorkerProcess> {
        let mut spares = self.lock();
        if !spares.ready.is_empty() || spares.awaited >= spares.under_way {
            return spares.ready.pop_front();
        }
        spares.awaited += 1;
        let is_coming = |spares: &mut Spares| spares.ready.is_empty() && spares.awaited <= spares.under_way;
        spares = self.arrived.wait_while(spares, is_coming).unwrap_or_else(PoisonError::into_inner);
        spares.awaited -= 1;
        spares.ready.pop_front()
    }

    /// Has `workers` started before they are needed, where that is worth it.
    pub fn request_spares(self: &Arc<Self>, workers: usize) -> SpareRequest {
        self.lock().expected += workers;
        self.refill();
        SpareRequest { nursery: Arc::clone(self), workers }
    }

    /// Runs `task` in fresh workers until what happens is the case's own doing.
    ///
    /// A crash or hang is believed when it happens to a worker that has run nothing else and `suspicion` or an
    /// earlier try agrees; SIGKILL, which comes from outside, must come [`PATIENCE`] times.
    pub fn try_fresh(self: &Arc<Self>, task: &Task, suspicion: Option<&Loss>) -> Result<Trial, WorkerError> {
        let mut earlier = suspicion.cloned();
        let mut killed = 0;
        loop {
            let mut worker = self.take()?;
            let (stage, loss) = match observe(&mut worker, task) {
                Ok(observation) => {
                    let survivor = Some(worker).filter(|worker| !worker.is_spent());
                    return Ok(Trial { observation, survivor });
                }
                Err(loss) => loss,
            };
            killed += usize::from(loss.is_from_outside());
            let believed = if loss.is_from_outside() { killed >= PATIENCE } else { earlier.is_some() };
            if believed {
                let observation = lost(&self.variant, stage, &loss)?;
                return Ok(Trial { observation, survivor: None });
            }
            earlier = Some(loss);
        }
    }

    fn start(&self) -> Result<WorkerProcess, WorkerError> {
        let mut result = self.try_start();
        // where none has ever started, there is nothing to wait for
        let has_started = self.description.get().is_some();
        for pause in PAUSES {
            if result.is_ok() || self.watchdog.is_over() {
                break;
            }
            if has_started {
                thread::sleep(pause);
            }
            result = self.try_start();
        }
        if let (Err(error), false) = (&result, self.watchdog.is_over()) {
            self.health.give_up(error.to_string());
        }
        result
    }

    fn try_start(&self) -> Result<WorkerProcess, WorkerError> {
        let _pass = self.gate.enter(Priority::Needed);
        self.start_now()
    }

    fn start_now(&self) -> Result<WorkerProcess, WorkerError> {
        let begun = Instant::now();
        let mut command = self.command.for_variant(&self.variant);
        command.envs(self.device.name().map(|name| (VISIBLE_DEVICES, name)));
        let worker = WorkerProcess::start(command, &self.variant, self.deadlines, &self.watchdog)?;
        self.lock().start_time = begun.elapsed();
        self.check(worker.sharing(&self.device))
    }

    /// Starts a spare; one that does not start is no loss: whoever needs one starts it and reports the error.
    fn stand_by(&self) {
        let mut standby = StartingSpare { nursery: self, is_under_way: false };
        let _pass = self.gate.enter(Priority::Spare);
        standby.set_off();
        if let Ok(worker) = self.start_now() {
            self.lock().ready.push_back(worker);
        }
    }

    /// A worker that is not what the first one was would give verdicts about something else.
    fn check(&self, worker: WorkerProcess) -> Result<WorkerProcess, WorkerError> {
        let (first, now) =
            (self.description.get_or_init(|| worker.description().clone()), worker.description());
        if first != now {
            let who = |one: &Description| format!("{} {}, as far as {}", one.name, one.version, one.reaches);
            let reason = format!(
                "it is {} now and was {} at first: its library or its device has changed",
                who(now),
                who(first)
            );
            return Err(WorkerError::Worker { variant: self.variant.clone(), reason });
        }
        let mut occupancy = self.occupancy.lock().unwrap_or_else(PoisonError::into_inner);
        let workers = self.device.workers();
        *occupancy = worker.device_memory().map(|memory| Occupancy::told(memory, workers, *occupancy));
        drop(occupancy);
        Ok(worker)
    }

    fn refill(self: &Arc<Self>) {
        let mut spares = self.lock();
        while spares.ready.len() + spares.starting < self.reserve.wanted(&spares) {
            let nursery = Arc::clone(self);
            if thread::Builder::new().spawn(move || nursery.stand_by()).is_err() {
                break;
            }
            spares.starting += 1;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Spares> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SparePolicy {
    fn wanted(self, spares: &Spares) -> usize {
        let expected = if spares.start_time < SLOW { 0 } else { spares.expected };
        expected.min(self.most).max(self.least)
    }
}

impl StartingSpare<'_> {
    /// It has passed the gate.
    fn set_off(&mut self) {
        self.is_under_way = true;
        self.nursery.lock().under_way += 1;
    }
}

impl Drop for StartingSpare<'_> {
    fn drop(&mut self) {
        let mut spares = self.nursery.lock();
        spares.starting -= 1;
        spares.under_way -= usize::from(self.is_under_way);
        drop(spares);
        self.nursery.arrived.notify_all();
    }
}

impl Drop for SpareRequest {
    fn drop(&mut self) {
        self.nursery.lock().expected -= self.workers;
    }
}

/// Runs one case in `worker`, once it is its turn, and waits for it.
pub fn observe(worker: &mut WorkerProcess, task: &Task) -> Result<Observation, (Stage, Loss)> {
    let turn = worker.turn();
    let _pass = turn.as_deref().map(|turn| turn.enter(Priority::Needed));
    let mut stage = Stage::Load;
    worker.send(task).and_then(|()| worker.flush()).map_err(|loss| (stage, loss))?;
    loop {
        match worker.receive(stage) {
            Ok(Answer::Stage(hash, entered)) if hash == task.hash => stage = entered,
            Ok(Answer::Done(hash, observation)) if hash == task.hash => return Ok(*observation),
            Ok(_) => return Err((stage, Loss::other_case())),
            Err(loss) => return Err((stage, loss)),
        }
    }
}

/// An observation whose case came to a worker at `since`; that is its time where the backend tells none.
pub fn timed(mut observation: Observation, since: Instant) -> Observation {
    if observation.timings.is_empty() {
        let micros = since.elapsed().as_micros() as u64;
        observation.timings.push(Timing { stage: observation.stage, micros });
    }
    observation
}

/// The observation of a case that ends its worker; an error where the harness is to blame.
pub fn lost(variant: &Variant, stage: Stage, loss: &Loss) -> Result<Observation, WorkerError> {
    let (outcome, last_words) = match loss {
        Loss::TimedOut => (Outcome::TimedOut, None),
        Loss::Died(death) => (Outcome::Crashed(death.status.clone()), death.last_words.clone()),
        Loss::Garbled(reason) => (Outcome::Crashed("garbled pipe".to_owned()), Some(reason.clone())),
        Loss::Fault(_) | Loss::Spent => {
            return Err(WorkerError::of_loss(variant, loss));
        }
    };
    let log = last_words.map(|text| LogLine { severity: Severity::Fatal, stage, text });
    Ok(Observation { log: log.into_iter().collect(), ..Observation::new(stage, outcome) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a device is given up on which no worker starts, while the campaign goes on or after it.
    fn is_given_up(is_over: bool) -> bool {
        let (watchdog, gate) = (Watchdog::start(), Arc::new(Semaphore::new(1)));
        if is_over {
            watchdog.kill_all();
        }
        // no process is forked for a name that none can have: it would share the locks that other tests hold
        let (variant, command) = ("ort:cpu".parse().unwrap(), WorkerCommand::new("no\0program"));
        let nursery =
            WorkerPool::new(variant, command, Deadlines::default(), watchdog, gate, SparePolicy::default());
        let nursery = Arc::new(nursery);
        assert!(nursery.take().is_err());
        nursery.health().is_given_up()
    }

    #[test]
    fn a_worker_that_is_killed_since_all_is_over_says_nothing_of_its_device() {
        assert!(is_given_up(false));
        assert!(!is_given_up(true));
    }
}
