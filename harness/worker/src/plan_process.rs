//! The process of a lean runtime: this worker's program once more, which serves a [plan runner](twinfer_backend::open_plan_runner) over the worker
//! protocol, with plans in place of models.
//!
//! The supervisor does not know it. The deadlines of the worker's stages include the work of this process, the worker's keeper kills
//! it with the worker, and a crash of it ends the worker in the same way, so that the case is repeated and judged like one that
//! ends its worker.

use std::{
    env,
    io::{self, BufReader, Write},
    os::unix::process::ExitStatusExt,
    process::{self, Child, ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::process::Signal;
use twinfer_backend::{Backend, OpenError};
use twinfer_case::{Description, DeviceMemory, Observation, Stage, Task, Variant};
use twinfer_protocol::{FromWorker, MessageError, PROTOCOL_VERSION, ToWorker, read_from_worker};

use crate::end::end_by;

/// The environment variable that has a worker run plans.
const PLANS_VARIABLE: &str = "TWINFER_RUNS_PLANS";

/// The exit code of a worker that cannot go on, and so of one whose other process cannot.
const FAILED: i32 = 3;

/// Whether this process is to run plans.
pub fn is_this_process() -> bool {
    env::var_os(PLANS_VARIABLE).is_some()
}

/// A process that runs the plans of this one.
pub struct PlanProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    description: Description,
    device_memory: Option<DeviceMemory>,
    is_lost: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("it closed its output")]
    Closed,
    #[error("it stops: {0}")]
    Fault(String),
    #[error("it sent a message that does not belong there")]
    Unexpected,
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error("its input: {0}")]
    Input(#[from] io::Error),
}

impl PlanProcess {
    /// Starts the process and waits until the lean runtime of `variant` is loaded.
    pub fn start(variant: &Variant) -> Result<Self, OpenError> {
        let failed = |error: NoAnswer| OpenError::PlanRunner { reason: error.to_string() };
        let mut child = spawn().map_err(|error| failed(error.into()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(NoAnswer::Closed));
        };
        let description = Description::new("", "", Stage::Execute);
        let output = BufReader::new(output);
        let mut process = Self { child, input, output, description, device_memory: None, is_lost: false };
        process.greet(variant).map_err(failed)?;
        Ok(process)
    }

    fn greet(&mut self, variant: &Variant) -> Result<(), NoAnswer> {
        let mut hello = Vec::new();
        ToWorker::write_hello(&mut hello, PROTOCOL_VERSION, std::slice::from_ref(variant))
            .map_err(MessageError::from)?;
        // a process that ends at once says why before
        let written = self.input.write_all(&hello);
        match self.receive()? {
            FromWorker::Hello { backends, device_memory, .. } => {
                self.description = backends.into_iter().next().ok_or(NoAnswer::Unexpected)?;
                self.device_memory = device_memory;
                Ok(written?)
            }
            _ => Err(NoAnswer::Unexpected),
        }
    }

    fn receive(&mut self) -> Result<FromWorker, NoAnswer> {
        match read_from_worker(&mut self.output)?.ok_or(NoAnswer::Closed)? {
            FromWorker::Fault(fault) => Err(NoAnswer::Fault(fault.message)),
            message => Ok(message),
        }
    }

    fn observe(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Result<Observation, NoAnswer> {
        let mut case = Vec::new();
        ToWorker::write_case(&mut case, task, &[0]).map_err(MessageError::from)?;
        self.input.write_all(&case)?;
        loop {
            match self.receive()? {
                FromWorker::Stage { hash, stage, .. } if hash == task.hash => progress(stage),
                FromWorker::Answer { hash, observation, last, .. } if hash == task.hash => {
                    self.is_lost |= last;
                    return Ok(observation);
                }
                _ => return Err(NoAnswer::Unexpected),
            }
        }
    }

    /// Ends this process by the signal that ended the other one, or with an error.
    fn end_alike(&mut self, reason: &NoAnswer) -> ! {
        if !matches!(reason, NoAnswer::Closed | NoAnswer::Input(_)) {
            let _ = self.child.kill();
        }
        let status = self.child.wait();
        let _ = writeln!(io::stderr(), "twinfer worker: the process of the lean runtime: {reason}");
        let signal = status.ok().and_then(|status| Signal::from_named_raw(status.signal()?));
        match (reason, signal) {
            (NoAnswer::Closed | NoAnswer::Input(_), Some(signal)) => end_by(signal),
            _ => process::exit(FAILED),
        }
    }
}

/// This program with its own arguments, which make it a worker as its environment does.
fn spawn() -> io::Result<Child> {
    Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env(PLANS_VARIABLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
}

impl Backend for PlanProcess {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn run(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Observation {
        match self.observe(task, progress) {
            Ok(observation) => observation,
            Err(reason) => self.end_alike(&reason),
        }
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn device_memory(&self) -> Option<DeviceMemory> {
        self.device_memory
    }
}

impl Drop for PlanProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
