use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use twinfer_case::Stage;

/// The time at which a worker counts as hung, and the process group to kill then.
pub struct Deadline {
    group: Pid,
    epoch: Instant,
    /// Milliseconds after `epoch`; 0 while the worker may wait.
    at: AtomicU64,
    is_expired: AtomicBool,
    is_disarmed: AtomicBool,
}

impl Deadline {
    /// No deadline yet for the process group that `pid` leads; times count from `epoch`.
    pub fn new(pid: u32, epoch: Instant) -> Self {
        Self {
            group: i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap_or(Pid::INIT),
            epoch,
            at: AtomicU64::new(0),
            is_expired: AtomicBool::new(false),
            is_disarmed: AtomicBool::new(false),
        }
    }

    /// Gives the worker this long from now.
    pub fn set(&self, time: Duration) {
        let at = self.epoch.elapsed() + time;
        self.at.store(at.as_millis() as u64, Ordering::Relaxed);
    }

    /// Lets the worker wait as long as it likes.
    pub fn clear(&self) {
        self.at.store(0, Ordering::Relaxed);
    }

    /// Whether the deadline passed and the worker was killed for it.
    pub fn is_expired(&self) -> bool {
        self.is_expired.load(Ordering::Relaxed)
    }

    /// Kills the worker and all processes that it started.
    pub fn kill(&self) {
        if self.group != Pid::INIT && !self.is_disarmed.load(Ordering::Relaxed) {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
    }

    /// Never kills again: the worker is dead, and its process id may be another process's soon.
    pub fn disarm(&self) {
        self.is_disarmed.store(true, Ordering::Relaxed);
    }

    /// Kills a worker that is late, `now` after the epoch. Returns false once there is nothing left to watch.
    pub fn enforce(&self, now: Duration) -> bool {
        let at = self.at.load(Ordering::Relaxed);
        if at == 0 || (now.as_millis() as u64) < at {
            return true;
        }
        self.is_expired.store(true, Ordering::Relaxed);
        self.kill();
        false
    }
}

/// How long a worker may stay in each stage before it counts as hung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// From spawning the worker to its handshake.
    pub start: Duration,
    /// Reading the model's bytes.
    pub load: Duration,
    /// Parsing the model.
    pub parse: Duration,
    /// Building an executable engine or session.
    pub build: Duration,
    /// Executing one run.
    pub execute: Duration,
}

impl Deadlines {
    /// How long a worker may stay in `stage`.
    pub const fn of(&self, stage: Stage) -> Duration {
        match stage {
            Stage::Start => self.start,
            Stage::Load => self.load,
            Stage::Parse => self.parse,
            Stage::Build => self.build,
            Stage::Execute => self.execute,
        }
    }
}

impl Default for Deadlines {
    /// Several times the slowest that was measured with TensorRT on a busy machine.
    fn default() -> Self {
        Self {
            start: Duration::from_mins(2),
            load: Duration::from_secs(30),
            parse: Duration::from_secs(30),
            build: Duration::from_mins(2),
            execute: Duration::from_secs(30),
        }
    }
}
