use std::{
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::loss::SIGKILL;

/// How long a killed process may take to end. One that waits for its device or disk ends only after that.
const ENDING: Duration = Duration::from_secs(10);
/// The pause between two looks at a process that is about to end.
const PAUSE: Duration = Duration::from_millis(1);

/// A worker's process, for which its owner waits while other threads may kill it.
#[derive(Debug)]
pub struct SharedChild {
    pid: Pid,
    /// `None` once the process was waited for: its id may be another process's.
    child: Mutex<Option<Child>>,
}

impl SharedChild {
    /// Shares a child that leads a process group.
    pub fn new(child: Child) -> Self {
        Self { pid: Pid::from_child(&child), child: Mutex::new(Some(child)) }
    }

    /// The process id.
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// Kills the process and its group. Has no effect once the process was waited for.
    pub fn kill(&self) {
        if self.child().is_some() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Whether the process ends within `time`.
    pub fn ends_within(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while !self.has_ended() {
            if begun.elapsed() >= time {
                return false;
            }
            thread::sleep(PAUSE);
        }
        true
    }

    /// Kills the process and what is left of its group, and waits until it has ended. Returns how it ended: by SIGKILL, if it
    /// takes too long.
    pub fn end(&self) -> ExitStatus {
        self.kill();
        let killed = ExitStatus::from_raw(SIGKILL);
        if !self.ends_within(ENDING) {
            return killed;
        }
        let ended = self.child().take();
        ended.and_then(|mut child| child.try_wait().ok().flatten()).unwrap_or(killed)
    }

    fn has_ended(&self) -> bool {
        // it stays a zombie, which keeps its id, until `end` has killed its group
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.child().is_none() || !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None))
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
