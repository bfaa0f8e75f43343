use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use twinfer_case::Stage;

/// How precisely deadlines are kept.
const TICK: Duration = Duration::from_millis(25);

/// Kills the process groups of workers whose deadline passes; lives as long as the leashes it gives out.
#[derive(Clone)]
pub struct Watchdog {
    watched: Arc<Mutex<Watched>>,
    epoch: Instant,
}

#[derive(Default)]
struct Watched {
    leashes: Vec<Weak<Deadline>>,
    /// Whether nobody waits for any worker any more.
    is_over: bool,
}

/// One worker's process group with the time at which it counts as hung.
pub struct Deadline {
    group: Pid,
    epoch: Instant,
    /// Milliseconds after `epoch`; 0 while nothing is asked of the worker.
    at: AtomicU64,
    expired: AtomicBool,
    retired: AtomicBool,
}

impl Watchdog {
    /// Starts the thread that looks at all deadlines; it ends with the last handle to the watchdog.
    pub fn start() -> Self {
        let watchdog = Self { watched: Arc::default(), epoch: Instant::now() };
        let watched = Arc::downgrade(&watchdog.watched);
        let epoch = watchdog.epoch;
        thread::spawn(move || {
            while let Some(watched) = watched.upgrade() {
                let now = epoch.elapsed();
                let mut held = watched.lock().unwrap_or_else(PoisonError::into_inner);
                held.leashes.retain(|leash| leash.upgrade().is_some_and(|leash| leash.check(now)));
                drop(held);
                drop(watched);
                thread::sleep(TICK);
            }
        });
        watchdog
    }

    /// Watches the process group that `pid` leads.
    pub fn watch(&self, pid: u32) -> Arc<Deadline> {
        let group = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap_or(Pid::INIT);
        let leash = Arc::new(Deadline {
            group,
            epoch: self.epoch,
            at: AtomicU64::new(0),
            expired: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        });
        let mut watched = self.watched();
        watched.leashes.push(Arc::downgrade(&leash));
        if watched.is_over {
            leash.kill();
        }
        drop(watched);
        leash
    }

    /// Nobody waits for any worker any more: kills them all, and each that starts from now on.
    pub fn kill_all(&self) {
        let mut watched = self.watched();
        watched.is_over = true;
        watched.leashes.iter().filter_map(Weak::upgrade).for_each(|leash| leash.kill());
    }

    /// Whether nobody waits for any worker any more.
    pub fn is_over(&self) -> bool {
        self.watched().is_over
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deadline {
    /// From now on the worker has this long.
    pub fn allow(&self, time: Duration) {
        let deadline = self.epoch.elapsed() + time;
        self.at.store(deadline.as_millis() as u64, Ordering::Relaxed);
    }

    /// Nothing is asked of the worker: it may wait forever.
    pub fn relax(&self) {
        self.at.store(0, Ordering::Relaxed);
    }

    /// Whether the deadline passed and the worker was killed for it.
    pub fn expired(&self) -> bool {
        self.expired.load(Ordering::Relaxed)
    }

    /// Kills the worker and everything it started.
    pub fn kill(&self) {
        if self.group != Pid::INIT && !self.retired.load(Ordering::Relaxed) {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
    }

    /// The worker is dead and its process number may belong to someone else: it is never killed again.
    pub fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    /// Kills a worker that is late; false once there is nothing left to watch.
    fn check(&self, now: Duration) -> bool {
        let deadline = self.at.load(Ordering::Relaxed);
        if deadline == 0 || (now.as_millis() as u64) < deadline {
            return true;
        }
        self.expired.store(true, Ordering::Relaxed);
        self.kill();
        false
    }
}

/// How long a worker may stay in each stage before it counts as hung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// From spawning to the handshake's answer.
    pub start: Duration,
    /// Reading the model.
    pub load: Duration,
    /// Understanding it.
    pub parse: Duration,
    /// Making something executable of it.
    pub build: Duration,
    /// One run.
    pub execute: Duration,
}

impl Deadlines {
    /// The deadline of `stage`.
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
    /// Generous: several times the slowest that was measured with TensorRT on a busy machine.
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
