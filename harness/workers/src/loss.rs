use std::{fmt, os::unix::process::ExitStatusExt, process::ExitStatus};

use twinfer_keeper::SIGNAL_EXIT;
use twinfer_protocol::Fault;

use crate::limits::Excess;

/// The signal that no program raises by a fault of its own.
pub const SIGKILL: i32 = 9;

/// The highest number of a signal on Linux.
const LAST_SIGNAL: i32 = 64;

/// Why a worker cannot be used any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A stage's deadline passed and the supervisor killed the worker.
    TimedOut,
    /// A stage took much longer than with other cases, and the supervisor killed the worker, which proves nothing about the case.
    Suspected,
    /// The worker died, or closed its pipe.
    Died(Death),
    /// The worker sent something that is not the protocol.
    Garbled(String),
    /// The worker reported that it cannot continue, for a reason that is not the backend's.
    Fault(Fault),
    /// The worker used more of the machine than it may, and the supervisor killed it.
    Exceeded(Excess),
    /// The worker announced, with an answer, that it accepts no more cases.
    Spent,
}

/// How a process died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The exit status as text: `signal 11`, `exit code 3`.
    pub status: String,
    /// Whether something outside killed the process, which is what SIGKILL means.
    pub from_outside: bool,
    /// The last line on stderr; `None` if there is none.
    pub last_line: Option<String>,
}

impl Loss {
    /// Whether the worker was killed from outside, which proves nothing about the case.
    pub const fn is_from_outside(&self) -> bool {
        matches!(self, Self::Died(Death { from_outside: true, .. }))
    }

    /// Whether the worker crashed or passed a deadline, and nothing outside did it.
    pub const fn is_of_case(&self) -> bool {
        matches!(self, Self::TimedOut | Self::Died(Death { from_outside: false, .. }))
    }

    /// Whether the case or the device ended the worker: neither something outside nor a suspicion did.
    pub const fn concerns_case(&self) -> bool {
        !self.is_from_outside() && !matches!(self, Self::Suspected)
    }

    /// The loss of a worker that answered for a case other than the one in front.
    pub fn other_case() -> Self {
        Self::Garbled("an answer carries the hash of another case".to_owned())
    }
}

impl Death {
    /// The death of a process with this exit status.
    pub fn new(status: ExitStatus, last_line: Option<String>) -> Self {
        let signal = status.signal().or_else(|| reported_signal(status.code()?));
        let (status, from_outside) = match (signal, status.code()) {
            (Some(signal), _) => (format!("signal {signal}"), signal == SIGKILL),
            (None, Some(code)) => (format!("exit code {code}"), false),
            (None, None) => ("no exit status".to_owned(), false),
        };
        Self { status, from_outside, last_line }
    }
}

/// The signal that an exit code stands for, as keepers and shells report it; `None` if it stands for none.
fn reported_signal(code: i32) -> Option<i32> {
    let signal = code - SIGNAL_EXIT;
    (1..=LAST_SIGNAL).contains(&signal).then_some(signal)
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("a stage's deadline passed"),
            Self::Suspected => f.write_str("a stage takes much longer than with other cases"),
            Self::Died(death) => match &death.last_line {
                Some(line) => write!(f, "the worker ended with {}: {line}", death.status),
                None => write!(f, "the worker ended with {}", death.status),
            },
            Self::Garbled(reason) => write!(f, "the worker's message cannot be read: {reason}"),
            Self::Fault(fault) => f.write_str(&fault.message),
            Self::Exceeded(excess) => excess.fmt(f),
            Self::Spent => f.write_str("the backend lost what it keeps between cases"),
        }
    }
}
