//! The worker's side of the protocol: one handshake, then cases.

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, Write},
};

use twinfer_case::{CaseHash, Description, Observation, OptionKey, Outcome, RunOutput, Stage, Task, Variant};
use twinfer_onnx::Tensor;
use twinfer_protocol::{
    Fault, FaultCause, FrameError, FromWorker, MessageError, PROTOCOL_VERSION, ToWorker, read_to_worker,
};

use crate::{
    capabilities,
    refusal::Refusal,
    runtime::{Loaded, Runtime},
};

/// Why the worker ends before the supervisor closes the pipe.
pub enum WorkerError {
    /// The pipe failed.
    Io(io::Error),
    /// A message is too large to be written.
    Frame(FrameError),
    /// The supervisor sent something that is no message.
    Message(MessageError),
    /// The worker cannot go on, which it has told the supervisor.
    Fault(Fault),
}

/// Serves one supervisor until it closes the pipe. A fault is also sent to it.
pub fn serve(stdin: &mut impl BufRead, stdout: File) -> Result<(), WorkerError> {
    let mut worker = Worker { stdout, runtime: Runtime::new() };
    let served = worker.serve(stdin);
    if let Err(WorkerError::Fault(fault)) = &served {
        worker.send(&FromWorker::Fault(fault.clone()))?;
    }
    served
}

struct Worker {
    stdout: File,
    runtime: Runtime,
}

impl Worker {
    fn serve(&mut self, stdin: &mut impl BufRead) -> Result<(), WorkerError> {
        while let Some(message) = read_to_worker(stdin)? {
            match message {
                ToWorker::Hello { protocol, variants } => {
                    let backends = greet(protocol, &variants)?;
                    let protocol = PROTOCOL_VERSION;
                    self.send(&FromWorker::Hello {
                        protocol,
                        backends,
                        device_memory: None,
                        fills: Vec::new(),
                    })?;
                }
                // all variants are the same
                ToWorker::Case { task, variants } => {
                    for variant in variants {
                        let observation = self.observe(&task, variant)?;
                        let hash = task.hash;
                        self.send(&FromWorker::Answer { hash, variant, observation, last: false })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What rten does with a case.
    fn observe(&mut self, task: &Task, variant: usize) -> Result<Observation, WorkerError> {
        self.enter(Stage::Parse, task.hash, variant)?;
        let model = match Loaded::read(&task.model) {
            Ok(model) => model,
            Err(refusal) => return Ok(observation(Stage::Parse, Vec::new(), Err(refusal))),
        };
        if task.until < Stage::Execute {
            return Ok(observation(Stage::Parse, Vec::new(), Ok(())));
        }
        self.enter(Stage::Execute, task.hash, variant)?;
        let mut runs = Vec::new();
        for inputs in &task.runs {
            match self.runtime.run(&model, inputs) {
                Ok(outputs) => runs.push(outputs),
                Err(refusal) => return Ok(observation(Stage::Execute, runs, Err(refusal))),
            }
        }
        Ok(observation(Stage::Execute, runs, Ok(())))
    }

    fn enter(&mut self, stage: Stage, hash: CaseHash, variant: usize) -> Result<(), WorkerError> {
        self.send(&FromWorker::Stage { hash, variant, stage })
    }

    fn send(&mut self, message: &FromWorker) -> Result<(), WorkerError> {
        let mut frame = Vec::new();
        message.write(&mut frame)?;
        Ok(self.stdout.write_all(&frame)?)
    }
}

/// The descriptions of the variants, or why they cannot be served.
fn greet(protocol: u32, variants: &[Variant]) -> Result<Vec<Description>, Fault> {
    if protocol != PROTOCOL_VERSION {
        let message = format!(
            "twinfer-rten has protocol version {PROTOCOL_VERSION}, twinfer {protocol}: install it from the same release with \
             `cargo install --locked --path adapters/rten`"
        );
        return Err(Fault::of_environment(message));
    }
    variants.iter().map(describe).collect()
}

fn describe(variant: &Variant) -> Result<Description, Fault> {
    // the supervisor finds this program by it
    let is_known = |key: &&String| key.as_str() == OptionKey::Library.key();
    match variant.options.keys().find(|key| !is_known(key)) {
        Some(key) => Err(Fault {
            message: format!("unknown option '{key}' of rten: it has no options but lib"),
            cause: FaultCause::Variant,
        }),
        None => Ok(capabilities::description()),
    }
}

fn observation(stage: Stage, runs: Vec<Vec<Tensor>>, end: Result<(), Refusal>) -> Observation {
    let outcome = end.map_or_else(|refusal| Outcome::Rejected(refusal.into()), |()| Outcome::Ok);
    let runs = runs.into_iter().map(|outputs| RunOutput { outputs, intermediates: Vec::new() }).collect();
    Observation { runs, ..Observation::new(stage, outcome) }
}

impl From<io::Error> for WorkerError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<FrameError> for WorkerError {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

impl From<MessageError> for WorkerError {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl From<Fault> for WorkerError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl fmt::Display for WorkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the pipe to the supervisor broke: {error}"),
            Self::Frame(error) => error.fmt(f),
            Self::Message(error) => write!(f, "the supervisor's message cannot be read: {error}"),
            Self::Fault(fault) => f.write_str(&fault.message),
        }
    }
}
