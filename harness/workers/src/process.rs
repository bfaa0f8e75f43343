pub mod command;
pub mod deadline;
pub mod stderr;

use std::{
    io::{self, BufReader, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Arc,
    time::Instant,
};

use rustix::{
    pipe::fcntl_setpipe_size,
    process::{Pid, setpriority_pgrp},
};
use twinfer_case::{CaseHash, Description, DeviceMemory, DeviceUse, Observation, Stage, Task, Variant};
use twinfer_protocol::{
    Fault, FrameError, FromWorker, MessageError, PROTOCOL_VERSION, ToWorker, read_from_worker,
};

use crate::{
    Deadlines, WorkerError,
    device::{Device, Membership},
    process::deadline::{Deadline, Watchdog},
    process::stderr::StderrTail,
    semaphore::Semaphore,
};

/// What the pipe to a worker is asked to hold, so that cases can wait in it.
pub const PIPE_BYTES: usize = 1 << 18;
/// The niceness of a worker that others go before: about a third of a processor that it shares with one of them.
const BEHIND: i32 = 5;

/// A running worker that answered its handshake and serves one variant.
pub struct WorkerProcess {
    child: Child,
    stdin: ChildStdin,
    /// What it is to be told next.
    unsent: Vec<u8>,
    stdout: BufReader<ChildStdout>,
    stderr: Option<StderrTail>,
    leash: Arc<Deadline>,
    deadlines: Deadlines,
    description: Description,
    device_memory: Option<DeviceMemory>,
    capacity: usize,
    start_millis: u64,
    spent: bool,
    /// The stage that the case in front is in, once it said so.
    entered: Option<Stage>,
    /// What it has to wait for before it is given a case.
    turn: Option<Arc<Semaphore>>,
    /// That it is one of those on its device, if it is on one.
    membership: Option<Membership>,
}

/// How a worker ended unasked, or why it cannot be used any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A stage's deadline passed and it was killed.
    TimedOut,
    /// It died, or closed its pipe; what is known of that.
    Died(Death),
    /// It said something that is not the protocol.
    Garbled(String),
    /// It reported that it cannot go on, for no reason of the backend's.
    Fault(Fault),
    /// It said that it is of no more use, after it answered.
    Spent,
}

/// How a process died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// `signal 11`, `exit code 3`.
    pub status: String,
    /// Whether something outside killed it: SIGKILL, which no program raises by a mistake of its own.
    pub from_outside: bool,
    /// The last line it printed to stderr.
    pub last_words: Option<String>,
}

/// What a worker says while it has cases.
pub enum Answer {
    /// It enters a stage of the case in front.
    Stage(CaseHash, Stage),
    /// It is done with the case in front.
    Done(CaseHash, Box<Observation>),
}

impl WorkerProcess {
    /// Starts a worker for `variant` and waits for its handshake.
    pub fn start(
        mut command: Command,
        variant: &Variant,
        deadlines: Deadlines,
        watchdog: &Watchdog,
    ) -> Result<Self, WorkerError> {
        let started = Instant::now();
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |reason: String| WorkerError::Worker { variant: variant.clone(), reason };
        let mut child = command
            .process_group(0)
            .spawn()
            .map_err(|error| failed(format!("cannot start {program:?}: {error}")))?;
        let leash = watchdog.watch(child.id());
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            leash.kill();
            return Err(failed(format!("{program:?} has no pipes")));
        };
        let capacity = fcntl_setpipe_size(&stdin, PIPE_BYTES).unwrap_or(4096);
        let _ = fcntl_setpipe_size(&stdout, PIPE_BYTES);
        let mut worker = Self {
            child,
            stdin,
            unsent: Vec::new(),
            stdout: BufReader::with_capacity(PIPE_BYTES, stdout),
            stderr: Some(StderrTail::follow(stderr)),
            leash,
            deadlines,
            description: Description::new("", "", Stage::Start),
            device_memory: None,
            capacity,
            start_millis: 0,
            spent: false,
            entered: None,
            turn: None,
            membership: None,
        };
        worker.description =
            worker.shake_hands(variant).map_err(|loss| WorkerError::of_loss(variant, &loss))?;
        worker.start_millis = started.elapsed().as_millis() as u64;
        Ok(worker)
    }

    /// The same, one of those that share `device`: counted there, and taking turns where it wants its device alone.
    #[must_use]
    pub fn sharing(mut self, device: &Arc<Device>) -> Self {
        let wants = self.description.device_use == DeviceUse::Alone;
        self.turn = wants.then(|| Arc::clone(device.turn()));
        self.membership = self.device_memory.map(|_| device.join());
        self
    }

    /// Lets others go before it where cores are short, if it computes on a device: there, what it takes of the processor is
    /// long enough to be in the way, and on the processor alone the threads that feed it would interrupt it each time.
    pub fn step_back(&self) {
        if self.device_memory.is_some() {
            // where that is not allowed, it competes with the others
            let _ = setpriority_pgrp(Some(Pid::from_child(&self.child)), BEHIND);
        }
    }

    /// What it has to wait for before it is given a case.
    pub fn turn(&self) -> Option<Arc<Semaphore>> {
        self.turn.clone()
    }

    fn shake_hands(&mut self, variant: &Variant) -> Result<Description, Loss> {
        self.leash.allow(self.deadlines.start);
        let hello = ToWorker::write_hello(&mut self.unsent, PROTOCOL_VERSION, std::slice::from_ref(variant))
            .and_then(|()| Ok(self.say()?));
        // a worker that cannot start says why and closes its end, perhaps before it has read ours
        let answer = read_from_worker(&mut self.stdout);
        self.leash.relax();
        match answer {
            Ok(Some(FromWorker::Hello { protocol: PROTOCOL_VERSION, mut backends, device_memory }))
                if backends.len() == 1 =>
            {
                hello.map_err(|error| Loss::Garbled(error.to_string()))?;
                self.device_memory = device_memory;
                Ok(backends.remove(0))
            }
            Ok(Some(FromWorker::Hello { protocol, .. })) => Err(Loss::Garbled(format!(
                "the worker speaks protocol {protocol}, this supervisor {PROTOCOL_VERSION}, or names not one backend"
            ))),
            Ok(Some(FromWorker::Fault(fault))) => Err(Loss::Fault(fault)),
            Ok(Some(_)) => Err(Loss::Garbled("the first message is no handshake".to_owned())),
            Ok(None) => Err(self.loss()),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    /// What the backend says of itself.
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// The memory of its device, as it found it once it had started; none where there is no device.
    pub const fn device_memory(&self) -> Option<DeviceMemory> {
        self.device_memory
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// From spawning to the handshake's answer.
    pub const fn start_millis(&self) -> u64 {
        self.start_millis
    }

    /// Whether it said that it is of no more use.
    pub const fn is_spent(&self) -> bool {
        self.spent
    }

    /// Bytes of cases that can wait in the pipe without blocking the supervisor.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Sends a case; it may wait in a buffer until [`flush`](Self::flush).
    pub fn send(&mut self, task: &Task) -> Result<(), Loss> {
        ToWorker::write_case(&mut self.unsent, task, &[0], &[]).map_err(|error| self.broken(error))
    }

    /// Whether it has said something that is read already, but for its end perhaps.
    pub fn has_words(&self) -> bool {
        !self.stdout.buffer().is_empty()
    }

    /// Sends what waits.
    pub fn flush(&mut self) -> Result<(), Loss> {
        self.say().map_err(|error| self.broken(error.into()))
    }

    fn say(&mut self) -> io::Result<()> {
        let said = self.stdin.write_all(&self.unsent);
        self.unsent.clear();
        self.unsent.shrink_to(PIPE_BYTES);
        said
    }

    /// Waits for what the worker says next about the case in front; it is in `stage` now.
    pub fn receive(&mut self, stage: Stage) -> Result<Answer, Loss> {
        self.leash.allow(self.deadlines.of(stage));
        let message = read_from_worker(&mut self.stdout);
        self.leash.relax();
        match message {
            // every stage has its deadline, so that one entered again and again would never end
            Ok(Some(FromWorker::Stage { stage, .. })) if self.entered >= Some(stage) => {
                Err(Loss::Garbled(format!("it enters {stage} once more")))
            }
            Ok(Some(FromWorker::Stage { hash, stage, .. })) => {
                self.entered = Some(stage);
                Ok(Answer::Stage(hash, stage))
            }
            Ok(Some(FromWorker::Answer { hash, observation, last, .. })) => {
                (self.spent, self.entered) = (last, None);
                Ok(Answer::Done(hash, Box::new(observation)))
            }
            Ok(Some(FromWorker::Fault(fault))) => Err(Loss::Fault(fault)),
            Ok(Some(FromWorker::Hello { .. })) => Err(Loss::Garbled("a second handshake".to_owned())),
            Ok(None) => Err(self.loss()),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    /// What a message that could not be read says about the worker.
    fn unreadable(&mut self, error: MessageError) -> Loss {
        match error {
            MessageError::Frame(error) => self.broken(error),
            _ if self.leash.expired() => Loss::TimedOut,
            error => Loss::Garbled(error.to_string()),
        }
    }

    fn broken(&mut self, error: FrameError) -> Loss {
        match error {
            _ if self.leash.expired() => Loss::TimedOut,
            FrameError::Io(_) => self.loss(),
            error => Loss::Garbled(error.to_string()),
        }
    }

    /// Waits for the worker that closed its pipe, killing what will not end.
    fn loss(&mut self) -> Loss {
        self.leash.allow(CLOSING);
        let status = self.child.wait();
        self.leash.relax();
        if self.leash.expired() && status.as_ref().is_ok_and(|status| status.signal() == Some(SIGKILL)) {
            return Loss::TimedOut;
        }
        self.leash.kill();
        self.leash.retire();
        let last_words = self.stderr.take().and_then(StderrTail::last_line);
        Loss::Died(Death::of(status, last_words))
    }
}

/// How long a worker that closed its pipe may take to end.
const CLOSING: std::time::Duration = std::time::Duration::from_secs(2);
const SIGKILL: i32 = 9;

impl Loss {
    /// Whether the worker was killed from outside, which says nothing about the case.
    pub const fn is_from_outside(&self) -> bool {
        matches!(self, Self::Died(Death { from_outside: true, .. }))
    }

    /// The worker answered for a case that it was not given.
    pub fn other_case() -> Self {
        Self::Garbled("an answer carries the hash of another case".to_owned())
    }
}

impl Death {
    fn of(status: io::Result<std::process::ExitStatus>, last_words: Option<String>) -> Self {
        let (status, from_outside) = match status {
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => (format!("signal {signal}"), signal == SIGKILL),
                (None, Some(code)) => (format!("exit code {code}"), false),
                (None, None) => ("no exit status".to_owned(), false),
            },
            Err(error) => (format!("no exit status: {error}"), false),
        };
        Self { status, from_outside, last_words }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.leash.kill();
        let _ = self.child.wait();
        self.leash.retire();
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TimedOut => f.write_str("a stage's deadline passed"),
            Self::Died(death) => match &death.last_words {
                Some(words) => write!(f, "the worker died of {}: {words}", death.status),
                None => write!(f, "the worker died of {}", death.status),
            },
            Self::Garbled(reason) => write!(f, "the worker's message cannot be read: {reason}"),
            Self::Fault(fault) => f.write_str(&fault.message),
            Self::Spent => f.write_str("the backend lost what it keeps between cases"),
        }
    }
}
