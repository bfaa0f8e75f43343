use std::{
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use twinfer_keeper::{ProcessTable, first_child};

use super::usage;
use crate::loss::SIGKILL;

/// How long a killed process may take to end. One that waits for its device or disk ends only after that.
const ENDING: Duration = Duration::from_secs(10);
/// The pause between two looks at a process that is about to end.
const PAUSE: Duration = Duration::from_millis(1);

/// The process of a worker or of its keeper, for which its owner waits while other threads may kill it.
#[derive(Debug)]
pub struct SharedChild {
    pid: Pid,
    is_keeper: bool,
    /// `None` once the process was waited for: its id may be another process's.
    child: Mutex<Option<Child>>,
    /// What it took in its whole life, with all processes that it started; unset before it has ended.
    processor_time: OnceLock<Duration>,
}

impl SharedChild {
    /// Shares a child that leads a process group.
    pub fn new(child: Child, is_keeper: bool) -> Self {
        Self {
            pid: Pid::from_child(&child),
            is_keeper,
            child: Mutex::new(Some(child)),
            processor_time: OnceLock::new(),
        }
    }

    /// The process id.
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// The process of the worker itself; `None` if its keeper has no child.
    pub fn worker(&self) -> Option<Pid> {
        if self.is_keeper { first_child(self.pid) } else { Some(self.pid) }
    }

    /// The processes of the worker, without its keeper, by `table`, which is of now.
    pub fn processes(&self, table: &ProcessTable) -> Vec<Pid> {
        let worker = (!self.is_keeper).then_some(self.pid);
        worker.into_iter().chain(table.descendants(self.pid)).collect()
    }

    /// Kills the worker with all processes that it started or, if it has no keeper, with its process group. Has no effect once
    /// the process was waited for.
    pub fn kill(&self) {
        if self.is_keeper {
            // a keeper that is killed itself could kill nobody
            self.signal(kill_process, Signal::TERM);
        } else {
            self.signal(kill_process_group, Signal::KILL);
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

    /// Kills the worker and waits until its process has ended. Returns how it ended: by SIGKILL, if it takes too long.
    pub fn end(&self) -> ExitStatus {
        self.kill();
        let has_ended = self.ends_within(ENDING);
        // also what a keeper that was killed leaves behind
        self.signal(kill_process_group, Signal::KILL);
        let killed = ExitStatus::from_raw(SIGKILL);
        if !has_ended && !self.ends_within(ENDING) {
            return killed;
        }
        if let Some(time) = self.child().as_ref().and_then(|_| usage::processor_time(self.pid)) {
            let _ = self.processor_time.set(time);
        }
        let ended = self.child().take();
        ended.and_then(|mut child| child.try_wait().ok().flatten()).unwrap_or(killed)
    }

    /// The processor time of the worker in its whole life, with all processes that it started; `None` before it has [ended](Self::end), or if the
    /// system does not report it.
    pub fn processor_time(&self) -> Option<Duration> {
        self.processor_time.get().copied()
    }

    fn signal(&self, send: impl FnOnce(Pid, Signal) -> rustix::io::Result<()>, signal: Signal) {
        if self.child().is_some() {
            // an error means that nobody is left
            let _ = send(self.pid, signal);
        }
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
