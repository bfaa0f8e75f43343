//! *Workers that are taken in turn*: cases wait for one that is in use or starting, as long as that is faster than starting another.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::{idle::IdleWorkers, process::WorkerProcess};

/// Time between two looks at whether a worker is free.
const PAUSE: Duration = Duration::from_millis(20);

/// Idle workers of one kind, and how many others there are.
pub struct WorkersInTurn<W = WorkerProcess> {
    idle: Arc<IdleWorkers<W>>,
    others: Mutex<Others>,
}

/// Workers that are not idle.
#[derive(Default)]
struct Others {
    /// In use, or starting.
    taken: usize,
    starting: usize,
}

/// A turn with a worker, or with starting one; over when dropped.
pub struct Turn<'a> {
    others: &'a Mutex<Others>,
    is_starting: bool,
}

impl<W> Default for WorkersInTurn<W> {
    fn default() -> Self {
        Self { idle: Arc::default(), others: Mutex::default() }
    }
}

impl<W> WorkersInTurn<W> {
    /// The idle ones.
    pub const fn idle(&self) -> &Arc<IdleWorkers<W>> {
        &self.idle
    }

    /// Whether there is no worker, idle or not.
    pub fn is_empty(&self) -> bool {
        locked(&self.others).taken == 0 && self.idle.is_empty()
    }

    /// Waits for an idle worker. `None` with the turn means: start one. That comes at once if there is no worker, and after `patience` if all are in
    /// use; not while another one starts, since it will soon be idle.
    pub fn take(&self, patience: Duration) -> (Turn<'_>, Option<W>) {
        let begun = Instant::now();
        loop {
            if let Some(taken) = self.try_take(|| begun.elapsed() >= patience) {
                return taken;
            }
            thread::sleep(PAUSE);
        }
    }

    fn try_take(&self, is_patience_over: impl FnOnce() -> bool) -> Option<(Turn<'_>, Option<W>)> {
        let mut others = locked(&self.others);
        let worker = self.idle.pop();
        let is_starting = worker.is_none();
        if is_starting && (others.starting > 0 || others.taken > 0 && !is_patience_over()) {
            return None;
        }
        others.taken += 1;
        others.starting += usize::from(is_starting);
        drop(others);
        Some((Turn { others: &self.others, is_starting }, worker))
    }
}

impl Turn<'_> {
    /// The worker has started.
    pub fn started(&mut self) {
        if std::mem::take(&mut self.is_starting) {
            locked(self.others).starting -= 1;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.started();
        locked(self.others).taken -= 1;
    }
}

fn locked(others: &Mutex<Others>) -> MutexGuard<'_, Others> {
    others.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands for a worker.
    #[derive(Debug, PartialEq)]
    struct Worker;

    #[test]
    fn one_worker_starts_at_a_time() {
        let workers = WorkersInTurn::<Worker>::default();
        let (mut first, none) = workers.take(Duration::ZERO);
        assert_eq!(none, None, "there is none yet");
        assert!(workers.try_take(|| true).is_none(), "one starts");
        first.started();
        assert!(workers.try_take(|| false).is_none(), "the first one may soon be idle");
        let (second, none) = workers.try_take(|| true).expect("the first one is in use for too long");
        assert_eq!(none, None);
        assert!(workers.try_take(|| true).is_none(), "the second one starts");
        drop(second);
        workers.idle().push(Worker);
        drop(first);
        let (third, idle) = workers.try_take(|| false).expect("one is idle");
        assert_eq!(idle, Some(Worker));
        assert!(!workers.is_empty(), "it is in use");
        drop(third);
        assert!(workers.is_empty());
    }

    #[test]
    fn case_waits_for_the_worker_that_starts() {
        let workers = WorkersInTurn::<Worker>::default();
        let (mut starting, _) = workers.take(Duration::ZERO);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| workers.take(Duration::ZERO).1);
            thread::sleep(2 * PAUSE);
            assert!(!waiting.is_finished());
            workers.idle().push(Worker);
            starting.started();
            assert_eq!(waiting.join().expect("it takes the worker"), Some(Worker));
        });
    }

    #[test]
    fn worker_that_did_not_start_keeps_nobody_waiting() {
        let workers = WorkersInTurn::<Worker>::default();
        drop(workers.take(Duration::ZERO));
        assert!(workers.try_take(|| false).is_some());
    }
}
