//! *Sabotage*: faults that a worker commits on purpose, so that tests see its supervisor survive them.
//!
//! Each worker commits one, some cases after it has started: what it does with its first cases is never disturbed, as
//! those are the ones by which a supervisor tells a case's own doing from that of its worker.

use std::{io::Write, process, thread, time::Duration};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::process::{Signal, getpid, kill_process};
use twinfer_case::Stage;
use twinfer_protocol::{FrameError, FromWorker};

/// The environment variable that asks for it: a number that decides, with the process's own, which fault is committed.
pub const SABOTAGE_VARIABLE: &str = "TWINFER_INJECT";

/// Cases that a worker answers at least before it commits a fault: one, and a history of sixteen before it.
const UNDISTURBED: u64 = 17;
/// At most so many more.
const MORE: u64 = 4;

/// The bytes that few messages exceed; what larger ones took is given back.
const TYPICAL: usize = 1 << 16;

/// What a worker says to its supervisor, truthfully unless it commits sabotage.
pub struct Voice<W> {
    output: W,
    /// What waits to be said.
    unsaid: Vec<u8>,
    sabotage: Option<Sabotage>,
}

/// A fault that is to be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sabotage {
    fault: Fault,
    /// Answers until then.
    countdown: u64,
    /// The last answer, as it was written.
    previous: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A signal, in a stage.
    Signal(Signal, Stage),
    /// Nothing happens any more, in a stage.
    Hang(Stage),
    /// The process exits in the middle of an answer.
    Exit,
    /// An answer without its end.
    Truncation,
    /// Bytes that are no frame.
    Garbage,
    /// A frame that announces more bytes than there can be.
    AbsurdLength,
    /// The answer to the case before.
    PreviousCase,
}

const FAULTS: &[Fault] = &[
    Fault::Signal(Signal::SEGV, Stage::Parse),
    Fault::Signal(Signal::SEGV, Stage::Execute),
    Fault::Signal(Signal::KILL, Stage::Build),
    Fault::Signal(Signal::KILL, Stage::Execute),
    Fault::Hang(Stage::Parse),
    Fault::Hang(Stage::Build),
    Fault::Hang(Stage::Execute),
    Fault::Exit,
    Fault::Truncation,
    Fault::Garbage,
    Fault::AbsurdLength,
    Fault::PreviousCase,
];

impl Sabotage {
    /// That of this process, where [`SABOTAGE_VARIABLE`] asks for one.
    pub fn of_process() -> Option<Self> {
        let seed: u64 = std::env::var(SABOTAGE_VARIABLE).ok()?.parse().ok()?;
        Some(Self::drawn(seed ^ (u64::from(process::id()) << 32)))
    }

    fn drawn(seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        Self {
            fault: FAULTS[random.random_range(0..FAULTS.len())],
            countdown: UNDISTURBED + random.random_range(0..MORE),
            previous: Vec::new(),
        }
    }

    fn tell(
        &mut self,
        message: &FromWorker,
        frame: &[u8],
        output: &mut impl Write,
    ) -> Result<(), FrameError> {
        match message {
            FromWorker::Stage { stage, .. } => {
                say(frame, output)?;
                self.fault.strike_in(*stage, self.is_due());
                Ok(())
            }
            // a case that is run twice has the same answer twice: then it strikes again at the next
            FromWorker::Answer { .. } if self.is_due() => {
                self.fault.strike_at_answer(frame, &self.previous, output)
            }
            FromWorker::Answer { .. } => {
                self.answered(frame);
                say(frame, output)
            }
            FromWorker::Hello { .. } | FromWorker::Fault(_) => say(frame, output),
        }
    }

    const fn is_due(&self) -> bool {
        self.countdown == 0
    }

    /// Counts an answer that is given, or will be.
    fn answered(&mut self, frame: &[u8]) {
        self.countdown -= 1;
        frame.clone_into(&mut self.previous);
    }
}

impl Fault {
    fn strike_in(self, stage: Stage, is_due: bool) {
        match self {
            Self::Signal(signal, place) if is_due && place == stage => die_of(signal),
            Self::Hang(place) if is_due && place == stage => hang(),
            _ => {}
        }
    }

    /// What is said instead of an answer; also where the case did not come to the stage in which it was to go wrong.
    fn strike_at_answer(
        self,
        answer: &[u8],
        previous: &[u8],
        output: &mut impl Write,
    ) -> Result<(), FrameError> {
        match self {
            Self::Signal(signal, _) => die_of(signal),
            Self::Hang(_) => hang(),
            Self::Exit => {
                say(&answer[..answer.len() / 2], output)?;
                process::exit(0)
            }
            Self::Truncation => say(&answer[..answer.len() - 5], output),
            Self::Garbage => say(b"a library says hello on the wrong stream\n", output),
            Self::AbsurdLength => say(&u32::MAX.to_le_bytes(), output),
            Self::PreviousCase => say(previous, output),
        }
    }
}

fn say(bytes: &[u8], output: &mut impl Write) -> Result<(), FrameError> {
    Ok(output.write_all(bytes).and_then(|()| output.flush())?)
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_mins(1));
    }
}

/// The first SIGSEGV only takes the runtime's own handler away.
fn die_of(signal: Signal) -> ! {
    loop {
        let _ = kill_process(getpid(), signal);
        thread::sleep(Duration::from_millis(1));
    }
}

impl<W: Write> Voice<W> {
    /// One that commits `sabotage`, if any.
    pub const fn new(output: W, sabotage: Option<Sabotage>) -> Self {
        Self { output, unsaid: Vec::new(), sabotage }
    }

    /// Says something at once, after what waits.
    pub fn tell(&mut self, message: &FromWorker) -> Result<(), FrameError> {
        message.write(&mut self.unsaid)?;
        let said = match &mut self.sabotage {
            None => say(&self.unsaid, &mut self.output),
            Some(sabotage) => sabotage.tell(message, &self.unsaid, &mut self.output),
        };
        self.clear();
        said
    }

    /// Says an answer together with what is told next, a system call for both, or with [`catch_up`](Self::catch_up).
    pub fn answer(&mut self, answer: &FromWorker) -> Result<(), FrameError> {
        match &mut self.sabotage {
            Some(sabotage) if sabotage.is_due() => self.tell(answer),
            sabotage => {
                let begin = self.unsaid.len();
                answer.write(&mut self.unsaid)?;
                if let Some(sabotage) = sabotage {
                    sabotage.answered(&self.unsaid[begin..]);
                }
                Ok(())
            }
        }
    }

    /// Says what waits.
    pub fn catch_up(&mut self) -> Result<(), FrameError> {
        let said = if self.unsaid.is_empty() { Ok(()) } else { say(&self.unsaid, &mut self.output) };
        self.clear();
        said
    }

    fn clear(&mut self) {
        self.unsaid.clear();
        self.unsaid.shrink_to(TYPICAL);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use twinfer_case::{CaseHash, Observation, Outcome};

    use super::*;

    #[test]
    fn every_fault_is_drawn_and_none_early() {
        let drawn: Vec<_> = (0..1000).map(Sabotage::drawn).collect();
        let faults: HashSet<_> = drawn.iter().map(|sabotage| format!("{:?}", sabotage.fault)).collect();
        assert_eq!(faults.len(), FAULTS.len());
        assert!(drawn.iter().all(|sabotage| sabotage.countdown >= UNDISTURBED));
        let countdowns: HashSet<_> = drawn.iter().map(|sabotage| sabotage.countdown).collect();
        assert_eq!(countdowns.len() as u64, MORE);
    }

    #[test]
    fn an_undisturbed_voice_says_what_it_is_told() {
        let message = FromWorker::Fault(twinfer_protocol::Fault::of_environment("no library"));
        let mut plain = Vec::new();
        message.write(&mut plain).unwrap();
        for sabotage in [None, Some(Sabotage::drawn(1))] {
            let mut said = Vec::new();
            let mut voice = Voice::new(&mut said, sabotage);
            for _ in 0..2 {
                voice.tell(&message).unwrap();
            }
            assert_eq!(said, plain.repeat(2));
        }
    }

    #[test]
    fn an_answer_that_waits_is_said_before_the_next_message() {
        let (answer, stage) = (answer(), FromWorker::Stage { hash: hash(), variant: 0, stage: Stage::Parse });
        let mut plain = Vec::new();
        answer.write(&mut plain).unwrap();
        stage.write(&mut plain).unwrap();
        answer.write(&mut plain).unwrap();
        for sabotage in [None, Some(Sabotage::drawn(1))] {
            let mut said = Vec::new();
            let mut voice = Voice::new(&mut said, sabotage);
            voice.answer(&answer).unwrap();
            assert!(voice.output.is_empty());
            voice.tell(&stage).unwrap();
            voice.answer(&answer).unwrap();
            voice.catch_up().unwrap();
            voice.catch_up().unwrap();
            assert_eq!(said, plain);
        }
    }

    #[test]
    fn a_fault_strikes_at_an_answer_that_would_wait() {
        let sabotage = Sabotage { fault: Fault::Garbage, countdown: 2, previous: Vec::new() };
        let mut said = Vec::new();
        let mut voice = Voice::new(&mut said, Some(sabotage));
        for _ in 0..2 {
            voice.answer(&answer()).unwrap();
            voice.tell(&FromWorker::Stage { hash: hash(), variant: 0, stage: Stage::Parse }).unwrap();
        }
        let before = voice.output.len();
        voice.answer(&answer()).unwrap();
        assert!(said[before..].starts_with(b"a library says hello"));
    }

    fn hash() -> CaseHash {
        "0a".repeat(32).parse().unwrap()
    }

    fn answer() -> FromWorker {
        let observation = Observation::new(Stage::Execute, Outcome::Ok);
        FromWorker::Answer { hash: hash(), variant: 0, observation, last: false }
    }
}
