//! *Fault injection*: a worker that fails on purpose, so that tests see its supervisor survive.
//!
//! Each worker injects one fault after it has answered a number of cases. Its first cases stay undisturbed, because by them
//! the supervisor distinguishes a fault of the case from a fault of its worker.

use std::{env, io::Write, process, thread, time::Duration};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::process::Signal;
use twinfer_case::Stage;
use twinfer_protocol::{FrameError, FromWorker};

use crate::{end::end_by, message_sink::MessageSink, message_writer::MessageWriter};

/// The environment variable that enables fault injection. Its value is a number that, together with the process's own,
/// selects the fault.
pub const FAULT_INJECTION_VARIABLE: &str = "TWINFER_INJECT";

/// The number of cases that a worker answers at least before its fault: one, and a history of sixteen before it.
const MIN_ANSWERS: u64 = 17;
/// The number of possible values for the number of answered cases.
const ANSWER_COUNTS: u64 = 4;

/// A message writer that injects one fault.
pub struct FaultInjection<W> {
    writer: MessageWriter<W>,
    fault: InjectedFault,
    /// The number of answers until the fault is due.
    countdown: u64,
    /// The frame of the last answer.
    previous: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InjectedFault {
    /// A signal ends the process in a stage.
    Signal(Signal, Stage),
    /// The process hangs in a stage.
    Hang(Stage),
    /// The process exits in the middle of an answer.
    Exit,
    /// The end of an answer is missing.
    Truncation,
    /// Bytes that are no frame replace an answer.
    Garbage,
    /// A frame announces more bytes than any frame may have.
    ExcessiveLength,
    /// The answer to the previous case is repeated.
    PreviousCase,
}

const FAULTS: &[InjectedFault] = &[
    InjectedFault::Signal(Signal::SEGV, Stage::Parse),
    InjectedFault::Signal(Signal::SEGV, Stage::Execute),
    InjectedFault::Signal(Signal::KILL, Stage::Build),
    InjectedFault::Signal(Signal::KILL, Stage::Execute),
    InjectedFault::Hang(Stage::Parse),
    InjectedFault::Hang(Stage::Build),
    InjectedFault::Hang(Stage::Execute),
    InjectedFault::Exit,
    InjectedFault::Truncation,
    InjectedFault::Garbage,
    InjectedFault::ExcessiveLength,
    InjectedFault::PreviousCase,
];

/// Returns the seed of this process's fault; `None` unless [`FAULT_INJECTION_VARIABLE`] is set to a number.
pub fn seed_from_environment() -> Option<u64> {
    let seed: u64 = env::var(FAULT_INJECTION_VARIABLE).ok()?.parse().ok()?;
    Some(seed ^ (u64::from(process::id()) << 32))
}

impl<W: Write> FaultInjection<W> {
    /// Writes to `writer`, with the fault that `seed` selects.
    pub fn new(writer: MessageWriter<W>, seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let fault = FAULTS[random.random_range(0..FAULTS.len())];
        Self::after(MIN_ANSWERS + random.random_range(0..ANSWER_COUNTS), fault, writer)
    }

    const fn after(answers: u64, fault: InjectedFault, writer: MessageWriter<W>) -> Self {
        Self { writer, fault, countdown: answers, previous: Vec::new() }
    }

    const fn is_due(&self) -> bool {
        self.countdown == 0
    }

    /// Injects the fault in place of an answer. A fault that belongs to a stage occurs here if its case never reached that stage.
    fn replace_answer(&mut self, answer: &FromWorker) -> Result<(), FrameError> {
        let frame = frame(answer)?;
        match self.fault {
            InjectedFault::Signal(signal, _) => end_by(signal),
            InjectedFault::Hang(_) => hang(),
            InjectedFault::Exit => {
                self.writer.write_bytes(&frame[..frame.len() / 2])?;
                process::exit(0)
            }
            InjectedFault::Truncation => self.writer.write_bytes(&frame[..frame.len() - 5]),
            InjectedFault::Garbage => self.writer.write_bytes(b"a library says hello on the wrong stream\n"),
            InjectedFault::ExcessiveLength => self.writer.write_bytes(&u32::MAX.to_le_bytes()),
            InjectedFault::PreviousCase => self.writer.write_bytes(&self.previous),
        }
    }

    /// Counts an answer that is sent or queued unharmed.
    fn count(&mut self, answer: &FromWorker) -> Result<(), FrameError> {
        self.countdown -= 1;
        self.previous = frame(answer)?;
        Ok(())
    }
}

impl<W: Write> MessageSink for FaultInjection<W> {
    fn send(&mut self, message: &FromWorker) -> Result<(), FrameError> {
        self.queue(message)?;
        self.flush()?;
        if let FromWorker::Stage { stage, .. } = message
            && self.is_due()
        {
            self.fault.occur_in(*stage);
        }
        Ok(())
    }

    fn queue(&mut self, message: &FromWorker) -> Result<(), FrameError> {
        if let FromWorker::Answer { .. } = message {
            // a fault that the supervisor survives, as the answer to a case that is run twice, is repeated at the next answer
            if self.is_due() {
                return self.replace_answer(message);
            }
            self.count(message)?;
        }
        self.writer.queue(message)
    }

    fn flush(&mut self) -> Result<(), FrameError> {
        self.writer.flush()
    }
}

impl InjectedFault {
    /// Ends or hangs the process if the fault belongs to this stage; returns otherwise.
    fn occur_in(self, reached: Stage) {
        match self {
            Self::Signal(signal, stage) if stage == reached => end_by(signal),
            Self::Hang(stage) if stage == reached => hang(),
            _ => {}
        }
    }
}

fn frame(message: &FromWorker) -> Result<Vec<u8>, FrameError> {
    let mut frame = Vec::new();
    message.write(&mut frame)?;
    Ok(frame)
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_mins(1));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::test_messages::{answer, frames, stage};

    fn with_seed<W: Write>(seed: u64, output: W) -> FaultInjection<W> {
        FaultInjection::new(MessageWriter::new(output), seed)
    }

    #[test]
    fn seeds_select_every_fault_and_none_early() {
        let selected: Vec<_> = (0..1000).map(|seed| with_seed(seed, Vec::new())).collect();
        let faults: HashSet<_> = selected.iter().map(|it| format!("{:?}", it.fault)).collect();
        assert_eq!(faults.len(), FAULTS.len());
        assert!(selected.iter().all(|it| it.countdown >= MIN_ANSWERS));
        let countdowns: HashSet<_> = selected.iter().map(|it| it.countdown).collect();
        assert_eq!(countdowns.len() as u64, ANSWER_COUNTS);
    }

    #[test]
    fn messages_are_unchanged_before_the_fault_is_due() {
        let mut written = Vec::new();
        let mut sink = with_seed(1, &mut written);
        sink.queue(&answer()).unwrap();
        sink.send(&stage()).unwrap();
        sink.queue(&answer()).unwrap();
        sink.flush().unwrap();
        assert_eq!(written, frames(&[answer(), stage(), answer()]));
    }

    #[test]
    fn faults_of_the_worker_itself_are_reported_unchanged() {
        let report = FromWorker::Fault(twinfer_protocol::Fault::of_environment("no library"));
        let mut written = Vec::new();
        let mut sink = FaultInjection::after(0, InjectedFault::Garbage, MessageWriter::new(&mut written));
        sink.send(&report).unwrap();
        assert_eq!(written, frames(&[report]));
    }

    #[test]
    fn due_fault_replaces_an_answer_that_would_be_queued() {
        let mut written = Vec::new();
        let mut sink = FaultInjection::after(2, InjectedFault::Garbage, MessageWriter::new(&mut written));
        for _ in 0..2 {
            sink.queue(&answer()).unwrap();
            sink.send(&stage()).unwrap();
        }
        sink.queue(&answer()).unwrap();
        let undisturbed = frames(&[answer(), stage(), answer(), stage()]);
        assert!(written[undisturbed.len()..].starts_with(b"a library says hello"));
        assert!(written.starts_with(&undisturbed));
    }
}
