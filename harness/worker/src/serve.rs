use std::{
    any::Any,
    io::{self, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
};

use twinfer_backend::{Backend, OpenError};
use twinfer_case::{Outcome, Stage, Task, Variant};
use twinfer_driver_cache::{AttributeTally, CacheMode, InvalidCacheMode, attribute_tally};
use twinfer_protocol::{Fault, FaultCause, FrameError, FromWorker, MessageError, PROTOCOL_VERSION, ToWorker};

use crate::{
    fault_injection::{Sabotage, Voice},
    message_reader::Inbox,
    open,
};

/// Why a worker stops before its supervisor closes the pipe.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The pipe failed.
    #[error("the pipe to the supervisor broke: {0}")]
    Io(#[from] io::Error),
    /// The answer could not be written.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// What the supervisor said is not the protocol.
    #[error("the supervisor's message cannot be read: {0}")]
    Message(#[from] MessageError),
    /// The supervisor speaks another version.
    #[error(
        "the supervisor speaks protocol {0}, this worker {PROTOCOL_VERSION}: use the same release for both"
    )]
    Protocol(u32),
    /// The first message is no handshake, or a later one is.
    #[error("the handshake comes first, and once")]
    Handshake,
    /// A variant cannot be served on this machine.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A case names a variant that the handshake does not.
    #[error("the case asks for variant {0}, which the handshake does not name")]
    UnknownVariant(usize),
    /// The driver cache is asked for in a way that it does not have.
    #[error(transparent)]
    DriverCache(#[from] InvalidCacheMode),
    /// The driver cache is being verified and is wrong.
    #[error("the driver no longer gives the device attributes that it gave before: {0}")]
    AttributesChanged(AttributeTally),
    /// The harness's own code panicked.
    #[error("the worker panicked: {0}")]
    Panic(String),
}

impl ServeError {
    /// What the supervisor is told of it.
    fn fault(&self) -> Fault {
        let cause = match self {
            Self::Open(OpenError::Option(_)) => FaultCause::Variant,
            _ => FaultCause::Environment,
        };
        Fault { message: self.to_string(), cause }
    }
}

/// Serves one supervisor: the handshake, then cases until it closes the pipe.
///
/// An error that the supervisor can still be told is also sent as a fault.
pub fn serve(input: impl Read, output: impl Write) -> Result<(), ServeError> {
    let mut input = Inbox::of(input);
    let mut voice = Voice::new(output, Sabotage::of_process());
    let result = converse(&mut input, &mut voice);
    if let Err(error) = &result {
        let _ = voice.tell(&FromWorker::Fault(error.fault()));
    }
    result
}

fn converse(input: &mut Inbox<impl Read>, voice: &mut Voice<impl Write>) -> Result<(), ServeError> {
    let cache = CacheMode::from_environment()?;
    let Some(mut backends) = shake_hands(input, voice, cache)? else { return Ok(()) };
    while let Some(message) = next(input, voice)? {
        let ToWorker::Case { task, variants, intermediates: _ } = message else {
            return Err(ServeError::Handshake);
        };
        for variant in variants {
            let backend = backends.get_mut(variant).ok_or(ServeError::UnknownVariant(variant))?;
            let answer = answer(backend.as_mut(), &task, variant, voice)?;
            voice.answer(&answer)?;
            verify(cache, attribute_tally())?;
            if let FromWorker::Answer { last: true, .. } = answer {
                return Ok(voice.catch_up()?);
            }
        }
    }
    Ok(())
}

/// The next message; nothing is left unsaid while one is waited for.
fn next(input: &mut Inbox<impl Read>, voice: &mut Voice<impl Write>) -> Result<Option<ToWorker>, ServeError> {
    if !input.has_next() {
        voice.catch_up()?;
    }
    Ok(input.next()?)
}

fn shake_hands(
    input: &mut Inbox<impl Read>,
    voice: &mut Voice<impl Write>,
    cache: CacheMode,
) -> Result<Option<Vec<Box<dyn Backend>>>, ServeError> {
    let Some(message) = input.next()? else { return Ok(None) };
    let ToWorker::Hello { protocol, variants } = message else { return Err(ServeError::Handshake) };
    if protocol != PROTOCOL_VERSION {
        return Err(ServeError::Protocol(protocol));
    }
    let backends =
        variants.iter().map(|variant| open_guarded(variant, cache)).collect::<Result<Vec<_>, _>>()?;
    let hello = FromWorker::Hello {
        protocol: PROTOCOL_VERSION,
        backends: backends.iter().map(|backend| backend.describe()).collect(),
        device_memory: backends.iter().find_map(|backend| backend.device_memory()),
    };
    voice.tell(&hello)?;
    Ok(Some(backends))
}

fn open_guarded(variant: &Variant, cache: CacheMode) -> Result<Box<dyn Backend>, ServeError> {
    guarded(|| open(variant, cache))?.map_err(ServeError::from)
}

/// Runs one case on one variant; every stage is told before it is entered. What to answer.
fn answer(
    backend: &mut dyn Backend,
    task: &Task,
    variant: usize,
    voice: &mut Voice<impl Write>,
) -> Result<FromWorker, ServeError> {
    let hash = task.hash;
    let mut told = Ok(());
    let observation = guarded(|| {
        backend.run(task, &mut |stage: Stage| {
            if told.is_ok() {
                told = voice.tell(&FromWorker::Stage { hash, variant, stage });
            }
        })
    })?;
    told?;
    let last = observation.outcome != Outcome::Ok && guarded(|| backend.is_lost())?;
    Ok(FromWorker::Answer { hash, variant, observation, last })
}

/// An error where answers in memory are being verified and one was wrong.
fn verify(cache: CacheMode, attributes: AttributeTally) -> Result<(), ServeError> {
    match cache {
        CacheMode::Verify if attributes.changed > 0 => Err(ServeError::AttributesChanged(attributes)),
        _ => Ok(()),
    }
}

/// A panic is a fault of the harness, never a crash of the backend: it is told as such.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, ServeError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| ServeError::Panic(panic_text(panic.as_ref())))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use twinfer_case::{Request, Task};
    use twinfer_driver_cache::{AttributeTally, CacheMode};
    use twinfer_onnx::DataType;
    use twinfer_protocol::{FromWorker, PROTOCOL_VERSION, ToWorker, read_from_worker};

    use super::{serve, verify};

    /// What is said, a system call each.
    #[derive(Default)]
    struct Calls(Vec<Vec<u8>>);

    impl Write for Calls {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_answer_goes_with_the_first_stage_of_a_case_that_is_there_already() {
        let mut said = Vec::new();
        ToWorker::write_hello(&mut said, PROTOCOL_VERSION, &["golden".parse().unwrap()]).unwrap();
        for model in [b"none", b"nada", b"zero"] {
            let request = Request { precision: DataType::Float, tf32: false };
            let task = Task::new(model.to_vec(), request, Vec::new());
            ToWorker::write_case(&mut said, &task, &[0], &[]).unwrap();
        }
        let mut calls = Calls::default();
        serve(said.as_slice(), &mut calls).unwrap();
        let kinds = calls.0.iter().map(|call| kinds(call)).collect::<Vec<_>>();
        assert_eq!(kinds, ["hello", "stage", "answer stage", "answer stage", "answer"]);
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

    #[test]
    fn a_changed_attribute_ends_a_worker_that_verifies_and_no_other() {
        let unchanged = AttributeTally { asked: 9, answered_by_driver: 9, compared: 8, changed: 0 };
        let changed = AttributeTally { changed: 1, ..unchanged };
        assert!([CacheMode::On, CacheMode::Off].into_iter().all(|mode| verify(mode, changed).is_ok()));
        assert!(verify(CacheMode::Verify, unchanged).is_ok());
        assert_eq!(
            verify(CacheMode::Verify, changed).unwrap_err().to_string(),
            "the driver no longer gives the device attributes that it gave before: 9 device attributes asked for, \
             9 answered by the driver, 8 answers compared, 1 changed"
        );
    }
}
