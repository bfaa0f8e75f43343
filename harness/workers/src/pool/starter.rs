//! Starts one worker process after another, each when there is room for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tracing::debug;
use twinfer_case::{PoisonPattern, TrustedVariant};

use crate::{
    device::{Device, DevicePlace},
    error::WorkerError,
    host_context::HostContext,
    host_memory::{HostMemory, MemoryPromise},
    idle::{IdleRegistry, required_dispensability},
    memory::private_bytes,
    process::{
        WorkerProcess, command::WorkerCommand, deadline::Deadlines, launch::Launch, spawned::SpawnedWorker,
        watchdog::Watchdog,
    },
    semaphore::{LONG_WAIT, Permit, Priority, Semaphore},
    worker_memory::WorkerMemory,
};

/// The environment variable that names the GPUs that a process sees.
const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// How long a worker waits for a place on a device that serves only so many processes: longer than the cases that take the places.
pub const PLACE_PATIENCE: Duration = Duration::from_mins(5);

/// How long a worker waits for memory that other workers hold: longer than for idle ones to make room.
const MEMORY_PATIENCE: Duration = Duration::from_secs(20);

/// How often the memory is looked at while it is short.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Starts the workers of one variant on one device.
pub struct Starter {
    pub(super) variant: TrustedVariant,
    command: WorkerCommand,
    /// What memory of the workers holds where nothing was written; `None` if it is left as it is.
    pattern: Option<PoisonPattern>,
    pub(super) device: Arc<Device>,
    deadlines: Deadlines,
    watchdog: Watchdog,
    memory: Arc<HostMemory>,
    /// The most bytes that a worker held once it had started, whatever memory it starts with; 0 before one has.
    start_bytes: Arc<AtomicU64>,
    /// Bounds how many workers start at once.
    turns: Arc<Semaphore>,
    pub(super) idle: IdleRegistry,
}

/// A worker that has run nothing.
pub struct Started {
    pub worker: WorkerProcess,
    /// How long its process took to start, once there was room for it.
    pub took: Duration,
}

/// A worker may start while this is held.
struct TurnToStart<'a> {
    _permit: Permit<'a>,
    memory: MemoryPromise<'a>,
    /// How long memory was short.
    memory_wait: Duration,
}

impl Starter {
    /// A starter of workers that see all devices, whose memory is left as it is.
    pub fn new(
        variant: TrustedVariant,
        command: WorkerCommand,
        deadlines: Deadlines,
        host: &HostContext,
    ) -> Self {
        Self {
            variant,
            command,
            pattern: None,
            device: Arc::new(Device::new(None, None)),
            deadlines,
            watchdog: host.watchdog().clone(),
            memory: Arc::clone(host.memory()),
            start_bytes: Arc::default(),
            turns: Arc::clone(host.starts()),
            idle: host.idle().clone(),
        }
    }

    /// Workers on the same device that start with other `memory`.
    pub fn with_memory(&self, memory: WorkerMemory) -> Self {
        Self {
            variant: memory.variant(&self.variant),
            command: memory.command(&self.command),
            pattern: memory.pattern(),
            device: Arc::clone(&self.device),
            deadlines: self.deadlines,
            watchdog: self.watchdog.clone(),
            memory: Arc::clone(&self.memory),
            start_bytes: Arc::clone(&self.start_bytes),
            turns: Arc::clone(&self.turns),
            idle: self.idle.clone(),
        }
    }

    /// Whether all workers were killed at the end of a campaign.
    pub fn is_shut_down(&self) -> bool {
        self.watchdog.is_shut_down()
    }

    /// Ends an idle worker on the device. Returns whether there was one.
    pub fn make_room(&self) -> bool {
        self.idle.make_room(Some(&self.device), 0.0)
    }

    /// Starts a worker once there is room for it.
    pub fn start(&self, priority: Priority) -> Result<Started, WorkerError> {
        let begun = Instant::now();
        let turn = self.turn_to_start(priority);
        let allowed = begun.elapsed();
        let make_room = || self.make_room();
        let place = self.device.enter(make_room, PLACE_PATIENCE).ok_or_else(|| self.without_place())?;
        let waited = begun.elapsed();
        if waited >= LONG_WAIT {
            let memory_millis = turn.memory_wait.as_millis() as u64;
            let permit_millis = allowed.saturating_sub(turn.memory_wait).as_millis() as u64;
            let place_millis = waited.saturating_sub(allowed).as_millis() as u64;
            let variant = self.variant.to_string();
            debug!(
                variant,
                ?priority,
                permit_millis,
                place_millis,
                memory_millis,
                "start of a worker waited"
            );
        }
        self.start_process(place, &turn.memory)
    }

    /// Starts a worker that may be needed soon, and calls `on_start` just before; `None` if there is no room for it now.
    pub fn start_spare(&self, on_start: impl FnOnce()) -> Option<Result<Started, WorkerError>> {
        let _permit = self.turns.acquire(Priority::Spare);
        let place = self.device.try_enter()?;
        let memory = self.memory.try_promise(self.start_bytes())?;
        on_start();
        Some(self.start_process(place, &memory))
    }

    /// Waits until a worker may start. One that waits for its turn, or for memory, takes no place on its device yet, and one that waits for
    /// memory holds up no other.
    fn turn_to_start(&self, priority: Priority) -> TurnToStart<'_> {
        let mut short_since = None;
        loop {
            let permit = self.turns.acquire(priority);
            let memory_wait = short_since.map_or(Duration::ZERO, |since: Instant| since.elapsed());
            let bytes = self.start_bytes();
            let promise = self.memory.try_promise(bytes);
            let is_patient = memory_wait < MEMORY_PATIENCE;
            if let Some(memory) = promise.or_else(|| (!is_patient).then(|| self.memory.promise(bytes))) {
                return TurnToStart { _permit: permit, memory, memory_wait };
            }
            drop(permit);
            let waited = short_since.get_or_insert_with(Instant::now).elapsed();
            if !self.idle.make_room(None, least_for(priority, waited)) {
                thread::sleep(LOOK_AGAIN);
            }
        }
    }

    fn without_place(&self) -> WorkerError {
        let (workers, minutes) = (self.device.workers(), PLACE_PATIENCE.as_secs() / 60);
        let reason =
            format!("{workers} workers use the device, and none of them ended within {minutes} minutes");
        WorkerError::Worker { variant: self.variant.clone().into_inner(), reason }
    }

    fn start_process(&self, place: DevicePlace, memory: &MemoryPromise<'_>) -> Result<Started, WorkerError> {
        let started = self.start_process_there(place, memory);
        if let Err(WorkerError::FullDevice { .. }) = started {
            self.device.record_refusal();
        }
        started
    }

    fn start_process_there(
        &self,
        place: DevicePlace,
        memory: &MemoryPromise<'_>,
    ) -> Result<Started, WorkerError> {
        let begun = Instant::now();
        let mut launch = Launch::prepare(&self.command, &self.variant)?;
        launch.command.envs(self.device.name().map(|name| (VISIBLE_DEVICES, name)));
        let spawned = SpawnedWorker::start(launch, &self.variant, self.deadlines.start, &self.watchdog)?;
        let child = Arc::clone(&spawned.confined);
        memory.spawned(move || child.allocated());
        let worker =
            WorkerProcess::start(spawned, &self.variant, self.pattern, self.deadlines, &self.watchdog)?;
        let took = begun.elapsed();
        let bytes = private_bytes(worker.pid()).unwrap_or(0);
        self.start_bytes.fetch_max(bytes, Ordering::Relaxed);
        Ok(Started { worker: worker.on_device(&self.device, place), took })
    }

    fn start_bytes(&self) -> u64 {
        self.start_bytes.load(Ordering::Relaxed)
    }
}

/// How dispensable an idle worker has to be to make room for one of this priority that has waited so long for it.
fn least_for(priority: Priority, waited: Duration) -> f64 {
    if priority == Priority::Executor { 0.0 } else { required_dispensability(waited) }
}
