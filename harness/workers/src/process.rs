pub mod accounting;
pub mod command;
pub mod confined;
pub mod deadline;
pub mod launch;
pub mod pipe;
mod program;
mod shared_child;
pub mod spawned;
pub mod stderr;
mod usage;
pub mod watchdog;

use std::{
    io::{self, BufReader, ErrorKind, Write},
    process::{ChildStdin, ChildStdout},
    slice,
    sync::Arc,
    time::Duration,
};

use rustix::process::setpriority_pgrp;
use tracing::{debug, warn};
use twinfer_case::{
    CaseHash, Description, DeviceMemory, DeviceUse, Filling, Observation, PoisonPattern, Stage, Task, Variant,
};
use twinfer_protocol::{
    FrameError, FromWorker, MAX_PAYLOAD, MessageError, PROTOCOL_VERSION, ToWorker, read_from_worker,
    read_limited_from_worker,
};

use self::{
    accounting::WorkKind,
    confined::ConfinedChild,
    deadline::{Deadline, Deadlines},
    pipe::{PIPE_BYTES, Pipe},
    spawned::SpawnedWorker,
    stderr::StderrTail,
    watchdog::Watchdog,
};
use crate::{
    device::{
        Device, DevicePlace,
        waits::{Patience, Wait},
    },
    error::WorkerError,
    loss::{Death, Loss},
    semaphore::Semaphore,
    stage_times::StageTimes,
};

/// Starting a worker that takes this long is worth planning: in advance, or not before it is needed.
pub const SLOW_START: Duration = Duration::from_millis(500);
/// How long a worker that closed its pipe may take to end.
const CLOSING: Duration = Duration::from_secs(2);
/// How many times as large as an element the widest one may be.
const WIDEST: u64 = 8;
/// Bytes of an answer beyond those of its outputs.
const EXCESS_ANSWER: u64 = 16 << 20;
/// The niceness of a worker with lowered priority: it gets about a third of a core that it shares with another one.
const NICENESS: i32 = 5;

/// A running worker that completed its handshake and serves one variant. Dropping it kills it.
pub struct WorkerProcess {
    variant: Variant,
    confined: Arc<ConfinedChild>,
    /// The process id of the worker, not of its keeper.
    pid: u32,
    stdin: Pipe<ChildStdin>,
    /// Messages to write with the next flush.
    unsent: Vec<u8>,
    stdout: BufReader<Pipe<ChildStdout>>,
    /// `None` once the worker's death was reported.
    stderr: Option<StderrTail>,
    /// Of the next read or write.
    deadline: Arc<Deadline>,
    deadlines: Deadlines,
    watchdog: Watchdog,
    description: Description,
    device_memory: Option<DeviceMemory>,
    /// What the worker is asked to fill memory with before each run.
    filling: Filling,
    pipe_capacity: usize,
    start_millis: u64,
    is_spent: bool,
    /// The stage of the case in front; `None` before the worker announced one.
    stage: Option<Stage>,
    /// To acquire before the worker receives a case; `None` if it shares its device.
    turn: Option<Arc<Semaphore>>,
    /// `None` if the worker uses no device.
    place: Option<DevicePlace>,
    watch: Watch,
    /// `None` before the worker is on its device.
    wait: Option<Arc<Wait>>,
}

/// How a worker is watched while it runs cases.
#[derive(Clone, Default)]
pub enum Watch {
    /// It may stay in each stage until the deadline.
    #[default]
    Deadlines,
    /// It may stay until the deadline, too: it runs a case that has ended a worker on suspicion.
    Trial,
    /// It is suspected if it stays in a stage for much longer than those that were measured.
    Usual(Arc<StageTimes>),
}

/// A worker's message about the case in front.
pub enum Reply {
    /// The worker enters a stage of the case.
    Entered(CaseHash, Stage),
    /// The worker has finished the case.
    Observed(CaseHash, Box<Observation>),
}

impl WorkerProcess {
    /// Waits for the handshake of a worker that was spawned for `variant`. Memory that was never written is to hold `pattern`.
    pub fn start(
        spawned: SpawnedWorker,
        variant: &Variant,
        pattern: Option<PoisonPattern>,
        deadlines: Deadlines,
        watchdog: &Watchdog,
    ) -> Result<Self, WorkerError> {
        let SpawnedWorker { confined, begun, spawning, pid, stdin, stdout, stderr, deadline, pipe_capacity } =
            spawned;
        let mut worker = Self {
            variant: variant.clone(),
            confined,
            pid,
            stdin,
            unsent: Vec::new(),
            stdout: BufReader::with_capacity(PIPE_BYTES, stdout),
            stderr: Some(stderr),
            deadline,
            deadlines,
            watchdog: watchdog.clone(),
            description: Description::new("", "", Stage::Start),
            device_memory: None,
            filling: Filling::default(),
            pipe_capacity,
            start_millis: 0,
            is_spent: false,
            stage: None,
            turn: None,
            place: None,
            watch: Watch::default(),
            wait: None,
        };
        worker.description = worker.exchange_hellos(pattern).map_err(|loss| {
            worker.log_loss(Stage::Start, None, &loss);
            WorkerError::of_start(variant, &loss, deadlines.start)
        })?;
        worker.record_start();
        worker.start_millis = begun.elapsed().as_millis() as u64;
        worker.log_start(spawning);
        Ok(worker)
    }

    /// Finds the worker behind its keeper, and measures what it uses before its first case.
    fn record_start(&mut self) {
        self.confined.record_start();
        if let Some(worker) = self.confined.child.worker() {
            self.pid = usage::number(worker);
        }
    }

    fn exchange_hellos(&mut self, pattern: Option<PoisonPattern>) -> Result<Description, Loss> {
        let hello = ToWorker::write_hello(&mut self.unsent, PROTOCOL_VERSION, slice::from_ref(&self.variant))
            .and_then(|()| Ok(self.write_unsent()?));
        // a worker that cannot start reports why and closes its pipe, perhaps before it has read the hello
        match read_from_worker(&mut self.stdout) {
            Ok(Some(FromWorker::Hello {
                protocol: PROTOCOL_VERSION,
                mut backends,
                device_memory,
                fills,
            })) if backends.len() == 1 => {
                hello.map_err(|error| Loss::Garbled(error.to_string()))?;
                self.device_memory = device_memory;
                self.filling = Filling::of(&fills, pattern);
                Ok(backends.remove(0))
            }
            Ok(Some(FromWorker::Hello { protocol, .. })) => Err(Loss::Garbled(format!(
                "the worker speaks protocol {protocol}, this supervisor {PROTOCOL_VERSION}, or names not one backend"
            ))),
            Ok(Some(FromWorker::Fault(fault))) => Err(Loss::Fault(fault)),
            Ok(Some(_)) => Err(Loss::Garbled("the first message is no handshake".to_owned())),
            Ok(None) => Err(self.loss_at_end()),
            Err(error) => Err(self.loss_of_message(error)),
        }
    }

    /// Keeps the worker's `place` on `device`, if its backend uses one, and lets it take turns there if it uses the device
    /// exclusively.
    #[must_use]
    pub fn on_device(mut self, device: &Device, place: DevicePlace) -> Self {
        let is_exclusive = self.description.device_use == DeviceUse::Alone;
        self.turn = is_exclusive.then(|| Arc::clone(device.turn()));
        self.place = self.device_memory.map(|_| place.counted());
        let wait = device.waits().add(self.start_time());
        self.deadline.watch(Arc::clone(&wait));
        self.wait = Some(wait);
        self
    }

    /// Watches the worker like this from the next case on.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = watch;
    }

    /// How long the worker took to start.
    pub const fn start_time(&self) -> Duration {
        Duration::from_millis(self.start_millis)
    }

    /// Whether the worker uses `device`.
    pub fn uses(&self, device: &Device) -> bool {
        self.place.as_ref().is_some_and(|place| place.is_on(device))
    }

    /// Counts the processor time of the worker as spent on this.
    pub fn set_kind(&self, kind: WorkKind) {
        self.confined.account.set_kind(kind);
    }

    /// Lowers the worker's CPU priority, if it uses a device. A worker that computes on the CPU keeps its priority: it would be
    /// interrupted whenever a thread of the supervisor wakes.
    pub fn lower_priority(&self) {
        if self.device_memory.is_some() {
            // if the system refuses, the worker competes with the others
            let _ = setpriority_pgrp(Some(self.confined.child.pid()), NICENESS);
        }
    }

    /// The semaphore to acquire before the worker receives a case; `None` if it shares its device.
    pub fn turn(&self) -> Option<Arc<Semaphore>> {
        self.turn.clone()
    }

    /// The backend's description of itself.
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// The memory of the worker's device after the worker started; `None` without a device.
    pub const fn device_memory(&self) -> Option<DeviceMemory> {
        self.device_memory
    }

    /// The process id.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Milliseconds from spawning the process to its handshake.
    pub const fn start_millis(&self) -> u64 {
        self.start_millis
    }

    /// Whether it took long to start.
    pub const fn is_slow_to_start(&self) -> bool {
        self.start_millis as u128 >= SLOW_START.as_millis()
    }

    /// Whether the worker announced that it accepts no more cases.
    pub const fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Bytes of cases that can wait in the pipe without blocking the supervisor.
    pub const fn pipe_capacity(&self) -> usize {
        self.pipe_capacity
    }

    /// Adds a case to those that the next [`flush`](Self::flush) sends.
    pub fn send(&mut self, task: &Task) -> Result<(), Loss> {
        ToWorker::write_filled_case(&mut self.unsent, task, self.filling, &[0])
            .map_err(|error| self.loss_of_frame(error))
    }

    /// Sends what waits to be sent. A worker that does not read is late in loading.
    pub fn flush(&mut self) -> Result<(), Loss> {
        self.deadline.set(self.deadlines.load);
        self.write_unsent().map_err(|error| self.loss_of_frame(error.into()))
    }

    fn write_unsent(&mut self) -> io::Result<()> {
        let written = self.stdin.write_all(&self.unsent);
        self.unsent.clear();
        self.unsent.shrink_to(PIPE_BYTES);
        written
    }

    /// Whether a part of the next reply, or all of it, has been read from the pipe already.
    pub fn has_unread(&self) -> bool {
        !self.stdout.buffer().is_empty()
    }

    /// Waits for the worker's next message about the case in front, which is `task` and in `stage`.
    pub fn receive(&mut self, stage: Stage, task: &Task) -> Result<Reply, Loss> {
        let deadline = self.deadlines.of(stage);
        self.deadline.set(deadline);
        if let Some(wait) = &self.wait {
            wait.begin(self.patience(stage, deadline));
        }
        let message = read_limited_from_worker(&mut self.stdout, answer_limit(task));
        let (time, is_suspected) = self.wait.as_ref().map_or((None, false), |wait| wait.end());
        if let (Ok(Some(_)), Watch::Usual(times), Some(time)) = (&message, &self.watch, time) {
            times.record(stage, time);
        }
        match message {
            Err(MessageError::Frame(FrameError::Io(error)))
                if is_suspected && error.kind() == ErrorKind::TimedOut =>
            {
                Err(self.confined.excess().map_or(Loss::Suspected, Loss::Exceeded))
            }
            // every stage has its deadline, so a worker that enters one again and again would never end
            Ok(Some(FromWorker::Stage { stage, .. })) if self.stage >= Some(stage) => {
                Err(Loss::Garbled(format!("it enters {stage} once more")))
            }
            Ok(Some(FromWorker::Stage { hash, stage, .. })) => {
                self.stage = Some(stage);
                Ok(Reply::Entered(hash, stage))
            }
            Ok(Some(FromWorker::Answer { hash, mut observation, last, .. })) => {
                (self.is_spent, self.stage) = (last, None);
                observation.output_filling = self.filling.outputs;
                Ok(Reply::Observed(hash, Box::new(observation)))
            }
            Ok(Some(FromWorker::Fault(fault))) => Err(Loss::Fault(fault)),
            Ok(Some(FromWorker::Hello { .. })) => Err(Loss::Garbled("a second handshake".to_owned())),
            Ok(None) => Err(self.loss_at_end()),
            Err(error) => Err(self.loss_of_message(error)),
        }
    }

    /// How long the worker may stay in `stage`, which has this deadline, before it is suspected.
    fn patience(&self, stage: Stage, deadline: Duration) -> Patience {
        match &self.watch {
            Watch::Deadlines => Patience::Full,
            Watch::Trial => Patience::Trial,
            Watch::Usual(times) => {
                let patience = times.patience(stage, self.deadlines.suspicion);
                patience.filter(|patience| *patience < deadline).map_or(Patience::Full, Patience::Limited)
            }
        }
    }

    fn log_start(&self, spawned: Duration) {
        let Description { name, version, .. } = &self.description;
        debug!(
            variant = self.variant.to_string(),
            pid = self.pid(),
            spawn_millis = spawned.as_millis() as u64,
            handshake_millis = self.start_millis.saturating_sub(spawned.as_millis() as u64),
            backend = format!("{name} {version}"),
            "worker started"
        );
    }

    /// Logs the loss of this worker in `stage` of the case at index `case`, if that is known. After the end of the campaign
    /// losses are normal.
    pub fn log_loss(&self, stage: Stage, case: Option<u64>, loss: &Loss) {
        let (variant, pid, stage) = (self.variant.to_string(), self.pid(), stage.to_string());
        let reason = loss.to_string();
        if self.watchdog.is_shut_down() {
            debug!(variant, pid, stage, case, reason, "worker killed at the end");
        } else {
            warn!(variant, pid, stage, case, reason, "worker lost");
        }
    }

    /// The loss that a message which cannot be read stands for.
    fn loss_of_message(&mut self, error: MessageError) -> Loss {
        match error {
            MessageError::Frame(error) => self.loss_of_frame(error),
            error => Loss::Garbled(error.to_string()),
        }
    }

    fn loss_of_frame(&mut self, error: FrameError) -> Loss {
        match error {
            FrameError::Io(error) if error.kind() == ErrorKind::TimedOut => {
                self.confined.excess().map_or(Loss::TimedOut, Loss::Exceeded)
            }
            FrameError::Io(_) => self.loss_at_end(),
            error => Loss::Garbled(error.to_string()),
        }
    }

    /// Waits for a worker that closed its pipe, and kills it if it does not end.
    fn loss_at_end(&mut self) -> Loss {
        let ends = self.confined.child.ends_within(CLOSING);
        let status = self.confined.child.end();
        if let Some(excess) = self.confined.excess() {
            return Loss::Exceeded(excess);
        }
        if !ends {
            return Loss::TimedOut;
        }
        Loss::Died(Death::new(status, self.stderr.take().and_then(StderrTail::last_line)))
    }
}

/// The most bytes of tensors in the answer to `task`: those of its outputs in the widest element type, and so much that an answer of
/// the wrong shape can still be compared.
fn answer_limit(task: &Task) -> u64 {
    let expected = task.output_bytes.unwrap_or(MAX_PAYLOAD);
    expected.saturating_mul(WIDEST).saturating_add(EXCESS_ANSWER).min(MAX_PAYLOAD)
}

impl AsRef<Self> for WorkerProcess {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let child = &self.confined.child;
        child.end();
        self.watchdog.settle(&self.confined);
        let processor_millis = child.processor_time().map(|time| time.as_millis() as u64);
        debug!(variant = self.variant.to_string(), pid = self.pid(), processor_millis, "worker stopped");
    }
}
