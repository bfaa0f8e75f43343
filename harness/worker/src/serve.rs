use std::{
    any::Any,
    io::{self, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use tracing::{debug, trace};
use twinfer_backend::{Backend, OpenError};
use twinfer_case::{Fillable, Outcome, Stage, Task, Variant};
use twinfer_driver_cache::{NotInForce, ensure_in_force};
use twinfer_protocol::{Fault, FaultCause, FrameError, FromWorker, MessageError, PROTOCOL_VERSION, ToWorker};

use crate::{
    bounds_check::BoundsCheck, message_reader::MessageReader, message_sink::MessageSink, open,
    output::message_sink, stack::StackFilling,
};

/// Why a worker stops before its supervisor closes the pipe.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The pipe failed.
    #[error("the pipe to the supervisor broke: {0}")]
    Io(#[from] io::Error),
    /// A message could not be written.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The supervisor sent something that is no message.
    #[error("the supervisor's message cannot be read: {0}")]
    Message(#[from] MessageError),
    /// The supervisor uses another version of the protocol.
    #[error(
        "the supervisor uses protocol version {0}, this worker {PROTOCOL_VERSION}: use the same release for both"
    )]
    Protocol(u32),
    /// The first message is not the handshake, or a later one is.
    #[error("the supervisor must send one handshake, before the first case")]
    Handshake,
    /// A variant cannot be served on this machine.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The memory mode of a variant is not in force.
    #[error(transparent)]
    Memory(#[from] NotInForce),
    /// A case requests a variant by a number that the handshake does not define.
    #[error("the case requests variant {0}, which the handshake does not name")]
    UnknownVariant(usize),
    /// The harness's own code panicked.
    #[error("the worker panicked: {0}")]
    Panic(String),
}

impl ServeError {
    /// The fault that reports this error to the supervisor.
    fn fault(&self) -> Fault {
        let cause = match self {
            Self::Open(OpenError::Option(_)) => FaultCause::Variant,
            Self::Open(OpenError::FullDevice { .. }) => FaultCause::FullDevice,
            _ => FaultCause::Environment,
        };
        Fault { message: self.to_string(), cause }
    }
}

/// Serves one supervisor: the handshake, then cases until the supervisor closes the pipe.
///
/// An error is also sent to the supervisor as a fault, if the pipe still works.
pub fn serve(input: impl Read, output: impl Write) -> Result<(), ServeError> {
    serve_while(ensure_in_force, input, output)
}

/// Whether the memory mode of this process is in force.
type InForce = fn() -> Result<(), NotInForce>;

/// As [`serve`], as long as `in_force` holds: before the handshake is answered, when the backends have used the driver, and after each case.
fn serve_while(in_force: InForce, input: impl Read, output: impl Write) -> Result<(), ServeError> {
    let mut messages = MessageReader::new(input);
    let mut sink = message_sink(output);
    let result = serve_messages(&mut messages, sink.as_mut(), in_force);
    if let Err(error) = &result {
        let _ = sink.send(&FromWorker::Fault(error.fault()));
    }
    result
}

fn serve_messages(
    messages: &mut MessageReader<impl Read>,
    sink: &mut dyn MessageSink,
    in_force: InForce,
) -> Result<(), ServeError> {
    let Some(mut backends) = handshake(messages, sink, in_force)? else { return Ok(()) };
    let stack = StackFilling::of_process();
    while let Some(message) = next_message(messages, sink)? {
        let ToWorker::Case { task, variants } = message else {
            return Err(ServeError::Handshake);
        };
        for variant in variants {
            let backend = backends.get_mut(variant).ok_or(ServeError::UnknownVariant(variant))?;
            let answer = answer(backend.as_mut(), &task, variant, stack, sink)?;
            in_force()?;
            sink.queue(&answer)?;
            if let FromWorker::Answer { last: true, .. } = answer {
                return Ok(sink.flush()?);
            }
        }
    }
    Ok(())
}

/// Returns the next message; sends the queued answers first if it has not arrived yet.
fn next_message(
    messages: &mut MessageReader<impl Read>,
    sink: &mut dyn MessageSink,
) -> Result<Option<ToWorker>, ServeError> {
    if !messages.has_next() {
        sink.flush()?;
    }
    Ok(messages.next()?)
}

/// Opens the backends of the variants that the handshake names, in its order; `None` if the pipe is closed before it.
fn handshake(
    messages: &mut MessageReader<impl Read>,
    sink: &mut dyn MessageSink,
    in_force: InForce,
) -> Result<Option<Vec<Box<dyn Backend>>>, ServeError> {
    let Some(message) = messages.next()? else { return Ok(None) };
    let ToWorker::Hello { protocol, variants } = message else { return Err(ServeError::Handshake) };
    if protocol != PROTOCOL_VERSION {
        return Err(ServeError::Protocol(protocol));
    }
    let backends = variants.iter().map(open_backend).collect::<Result<Vec<_>, _>>()?;
    let hello = FromWorker::Hello {
        protocol: PROTOCOL_VERSION,
        backends: backends.iter().map(|backend| backend.describe()).collect(),
        device_memory: backends.iter().find_map(|backend| backend.device_memory()),
        fills: fills(&backends),
    };
    in_force()?;
    sink.send(&hello)?;
    Ok(Some(backends))
}

/// The memory that all of `backends` fill as a case asks.
fn fills(backends: &[Box<dyn Backend>]) -> Vec<Fillable> {
    let fill_outputs = backends.iter().all(|backend| backend.fills_outputs());
    fill_outputs.then_some(Fillable::Outputs).into_iter().collect()
}

fn open_backend(variant: &Variant) -> Result<Box<dyn Backend>, ServeError> {
    let begun = Instant::now();
    let backend = catching_panics(|| open(variant))??;
    debug!(variant = variant.to_string(), millis = begun.elapsed().as_millis() as u64, "backend opened");
    Ok(backend)
}

/// Runs a case on a backend, announcing every stage before the backend enters it, and returns the answer.
fn answer(
    backend: &mut dyn Backend,
    task: &Task,
    variant: usize,
    stack: StackFilling,
    sink: &mut dyn MessageSink,
) -> Result<FromWorker, ServeError> {
    let hash = task.hash;
    let mut announced = Ok(());
    let mut bounds = BoundsCheck::default();
    let mut observation = catching_panics(|| {
        backend.run(task, &mut |stage: Stage| {
            bounds.enter(stage);
            if announced.is_ok() {
                announced = sink.send(&FromWorker::Stage { hash, variant, stage });
            }
            stack.apply();
        })
    })?;
    announced?;
    observation.out_of_bounds.extend(bounds.finish());
    trace!(hash = hash.to_string(), stage = observation.stage.to_string(), "case run");
    let last = observation.outcome != Outcome::Ok && catching_panics(|| backend.is_lost())?;
    Ok(FromWorker::Answer { hash, variant, observation, last })
}

/// Turns a panic into an error: it is a fault of the harness, not a crash of the backend.
fn catching_panics<T>(work: impl FnOnce() -> T) -> Result<T, ServeError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| ServeError::Panic(panic_text(panic.as_ref())))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };

    use twinfer_case::{MemoryMode, Request, Task};
    use twinfer_driver_cache::NotInForce;
    use twinfer_onnx::DataType;
    use twinfer_protocol::{FromWorker, PROTOCOL_VERSION, ToWorker, read_from_worker};

    use super::{InForce, serve_while};

    /// The bytes of each write.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The handshake for golden, and three cases.
    fn conversation() -> Vec<u8> {
        let mut input = Vec::new();
        ToWorker::write_hello(&mut input, PROTOCOL_VERSION, &["golden".parse().unwrap()]).unwrap();
        for model in [b"none", b"nada", b"zero"] {
            let request = Request { precision: DataType::Float, tf32: false };
            let task = Task::new(model.to_vec(), request, Vec::new());
            ToWorker::write_case(&mut input, &task, &[0]).unwrap();
        }
        input
    }

    /// The kinds of the messages in each write of a worker that serves as long as `in_force` holds.
    fn written(in_force: InForce) -> Vec<String> {
        let mut writes = Writes::default();
        let _ = serve_while(in_force, conversation().as_slice(), &mut writes);
        writes.0.iter().map(|bytes| kinds(bytes)).collect()
    }

    #[test]
    fn answer_is_written_with_the_first_stage_of_a_waiting_case() {
        assert_eq!(written(|| Ok(())), ["hello", "stage", "answer stage", "answer stage", "answer"]);
    }

    #[test]
    fn nothing_is_answered_once_the_memory_mode_is_not_in_force() {
        const NOT_IN_FORCE: NotInForce = NotInForce::Ambiguous { mode: MemoryMode::Keep };
        static CHECKS: AtomicUsize = AtomicUsize::new(0);
        assert_eq!(written(|| Err(NOT_IN_FORCE)), ["fault"]);
        // it holds for the handshake and the first case
        let in_force = || if CHECKS.fetch_add(1, Relaxed) < 2 { Ok(()) } else { Err(NOT_IN_FORCE) };
        assert_eq!(written(in_force), ["hello", "stage", "answer stage", "fault"]);
    }

    fn kinds(mut bytes: &[u8]) -> String {
        let mut kinds = Vec::new();
        while let Some(message) = read_from_worker(&mut bytes).unwrap() {
            kinds.push(match message {
                FromWorker::Hello { .. } => "hello",
                FromWorker::Stage { .. } => "stage",
                FromWorker::Answer { .. } => "answer",
                FromWorker::Fault(_) => "fault",
            });
        }
        kinds.join(" ")
    }
}
