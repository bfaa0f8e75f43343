use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use super::deadline::Deadline;

/// Time between two looks at the deadlines.
const TICK: Duration = Duration::from_millis(25);

/// Kills the process groups of workers whose deadline passes.
#[derive(Clone)]
pub struct Watchdog {
    watched: Arc<Mutex<Watched>>,
    epoch: Instant,
}

#[derive(Default)]
struct Watched {
    deadlines: Vec<Weak<Deadline>>,
    is_shut_down: bool,
}

impl Watchdog {
    /// Starts the thread that enforces deadlines; it ends with the last handle to the watchdog.
    pub fn start() -> Self {
        let watchdog = Self { watched: Arc::default(), epoch: Instant::now() };
        let watched = Arc::downgrade(&watchdog.watched);
        let epoch = watchdog.epoch;
        thread::spawn(move || {
            while let Some(watched) = watched.upgrade() {
                let now = epoch.elapsed();
                let mut held = watched.lock().unwrap_or_else(PoisonError::into_inner);
                held.deadlines.retain(|deadline| deadline.upgrade().is_some_and(|one| one.enforce(now)));
                drop(held);
                drop(watched);
                thread::sleep(TICK);
            }
        });
        watchdog
    }

    /// Watches the process group that `pid` leads, as long as its deadline is held.
    pub fn watch(&self, pid: u32) -> Arc<Deadline> {
        let deadline = Arc::new(Deadline::new(pid, self.epoch));
        let mut watched = self.watched();
        watched.deadlines.push(Arc::downgrade(&deadline));
        if watched.is_shut_down {
            deadline.kill();
        }
        drop(watched);
        deadline
    }

    /// Kills all workers, and each that starts from now on.
    pub fn shut_down(&self) {
        let mut watched = self.watched();
        watched.is_shut_down = true;
        watched.deadlines.iter().filter_map(Weak::upgrade).for_each(|deadline| deadline.kill());
    }

    /// Whether all workers were killed because the campaign is over.
    pub fn is_shut_down(&self) -> bool {
        self.watched().is_shut_down
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
