use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::Duration,
};

use twinfer_case::ProcessorUse;
use twinfer_keeper::ProcessTable;

use super::{accounting::Account, confined::ConfinedChild};

/// Time between two looks at what workers use. Each reads a file per process of the machine.
const INTERVAL: Duration = Duration::from_secs(1);

/// Knows all workers: keeps them within their limits, counts their processor time, and kills them at the end.
#[derive(Clone)]
pub struct Watchdog {
    watched: Arc<Mutex<Watched>>,
}

#[derive(Default)]
struct Watched {
    children: Vec<Weak<ConfinedChild>>,
    /// The processor time of workers that have ended.
    ended: ProcessorUse,
    is_shut_down: bool,
}

impl Watchdog {
    /// Starts the thread that enforces limits; it ends with the last handle to the watchdog.
    pub fn start() -> Self {
        let watchdog = Self { watched: Arc::default() };
        let watched = Arc::downgrade(&watchdog.watched);
        thread::spawn(move || {
            loop {
                thread::sleep(INTERVAL);
                let Some(watched) = watched.upgrade() else { return };
                let workers = lock(&watched).living();
                look_at(&workers);
            }
        });
        watchdog
    }

    /// Watches a process as long as it is held.
    pub fn watch(&self, child: &Arc<ConfinedChild>) {
        let mut watched = lock(&self.watched);
        watched.children.push(Arc::downgrade(child));
        if watched.is_shut_down {
            child.child.kill();
        }
    }

    /// Counts the processor time of a worker that has ended, and forgets it.
    pub fn settle(&self, child: &Arc<ConfinedChild>) {
        let mut watched = lock(&self.watched);
        if let Some(time) = child.child.processor_time() {
            child.account.record(time);
        }
        watched.ended = watched.ended + child.account.in_the_end();
        watched.children.retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(child)));
    }

    /// The processor time of all workers so far, at most a second old.
    pub fn processor_use(&self) -> ProcessorUse {
        self.summed(Account::so_far)
    }

    /// The same once no worker runs anything more, with those that have run nothing.
    pub fn processor_use_in_the_end(&self) -> ProcessorUse {
        self.summed(Account::in_the_end)
    }

    fn summed(&self, of_living: fn(&Account) -> ProcessorUse) -> ProcessorUse {
        let mut watched = lock(&self.watched);
        let living = watched.living();
        living.iter().fold(watched.ended, |sum, child| sum + of_living(&child.account))
    }

    /// Kills all workers, and each that starts from now on.
    pub fn shut_down(&self) {
        let mut watched = lock(&self.watched);
        watched.is_shut_down = true;
        for worker in watched.living() {
            worker.child.kill();
        }
    }

    /// Whether all workers were killed because the campaign is over.
    pub fn is_shut_down(&self) -> bool {
        lock(&self.watched).is_shut_down
    }
}

impl Watched {
    /// The processes that are still held; forgets the others.
    fn living(&mut self) -> Vec<Arc<ConfinedChild>> {
        self.children.retain(|child| child.strong_count() > 0);
        self.children.iter().filter_map(Weak::upgrade).collect()
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look_at(workers: &[Arc<ConfinedChild>]) {
    if workers.is_empty() {
        return;
    }
    let table = ProcessTable::read();
    for worker in workers {
        worker.enforce(&table);
        worker.record_processor_time(&table);
    }
}
