use std::{
    num::NonZero,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tracing::debug;

/// Bounds how many threads do something at once. Threads that need a permit get it in the order in which they came.
///
/// One semaphore bounds the workers that start, whatever variant they serve: starting one of TensorRT keeps a core busy for
/// seconds, and more of them than there are cores take minutes together, past the deadline of each. Another bounds
/// the cases on a device that workers use exclusively: TensorRT times kernels while it builds, and processes share a GPU by
/// time slices, so that many builds side by side pass their deadlines and time each other's work.
pub struct Semaphore {
    /// What the permits are for, for the log.
    name: &'static str,
    state: Mutex<State>,
    changed: Condvar,
}

/// The most workers that start at once, on a machine with many cores.
const STARTS: usize = 16;

/// One permit in this many may go to a spare: starting one takes cores that cases could use.
const SPARES: usize = 4;

/// A wait that is long enough to be logged.
pub const LONG_WAIT: Duration = Duration::from_millis(100);

/// How urgently a permit is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A case is waiting.
    Needed,
    /// For a spare, which starts only while no thread with [`Priority::Needed`] is waiting.
    Spare,
}

/// The right to proceed; released when dropped.
pub struct Permit<'a>(&'a Semaphore);

struct State {
    permits: usize,
    /// Permits that are taken.
    taken: usize,
    /// Threads with [`Priority::Needed`] that have arrived so far, and how many of these have got a permit.
    arrived: u64,
    admitted: u64,
}

impl State {
    const fn is_needed(&self) -> bool {
        self.admitted < self.arrived
    }
}

impl Semaphore {
    /// A semaphore for the workers that start on this machine: half of the cores, since cases need the others, and at most
    /// 16.
    pub fn for_worker_starts() -> Self {
        Self::new("worker starts", (cores() / 2).clamp(2, STARTS))
    }

    /// Lets workers start on all cores, since no case needs one any more.
    pub fn use_all_cores(&self) {
        self.set_permits(cores().clamp(2, STARTS));
    }

    /// A semaphore with so many permits. The `name` says what they are for, in the log.
    pub fn new(name: &'static str, permits: usize) -> Self {
        let state = State { permits, taken: 0, arrived: 0, admitted: 0 };
        Self { name, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn set_permits(&self, permits: usize) {
        self.state().permits = permits;
        self.changed.notify_all();
    }

    /// Waits for a permit.
    pub fn acquire(&self, priority: Priority) -> Permit<'_> {
        let begun = Instant::now();
        let permit = self.wait(priority);
        let waited = begun.elapsed();
        if waited >= LONG_WAIT {
            debug!(
                semaphore = self.name,
                ?priority,
                millis = waited.as_millis() as u64,
                "waited for a permit"
            );
        }
        permit
    }

    fn wait(&self, priority: Priority) -> Permit<'_> {
        let mut state = self.state();
        match priority {
            Priority::Needed => {
                let number = state.arrived;
                state.arrived += 1;
                state =
                    self.wait_while(state, |state| state.admitted < number || state.taken >= state.permits);
                state.admitted += 1;
            }
            Priority::Spare => {
                state = self.wait_while(state, |state| {
                    state.is_needed() || state.taken >= (state.permits / SPARES).max(1)
                });
            }
        }
        state.taken += 1;
        // the next thread may proceed too
        self.changed.notify_all();
        drop(state);
        Permit(self)
    }

    fn wait_while<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        is_blocked: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        self.changed.wait_while(state, |state| is_blocked(state)).unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cores of this machine that the process may use.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.state().taken -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Waits until so many threads wait for a permit that they need.
    fn until_waiting(semaphore: &Semaphore, threads: u64) {
        let begun = Instant::now();
        let waiting = || {
            let state = semaphore.state();
            state.arrived - state.admitted
        };
        while waiting() < threads {
            assert!(begun.elapsed() < Duration::from_secs(30), "no thread waits");
            thread::yield_now();
        }
    }

    #[test]
    fn thread_waits_when_all_permits_are_taken() {
        let semaphore = Semaphore::new("test", 2);
        let (first, _second) = (semaphore.acquire(Priority::Needed), semaphore.acquire(Priority::Needed));
        thread::scope(|scope| {
            let third = scope.spawn(|| drop(semaphore.acquire(Priority::Needed)));
            until_waiting(&semaphore, 1);
            assert_eq!(semaphore.state().taken, 2);
            drop(first);
            third.join().expect("it proceeds once a permit is released");
        });
    }

    #[test]
    fn thread_proceeds_when_there_are_more_permits() {
        let semaphore = Semaphore::new("test", 1);
        let first = semaphore.acquire(Priority::Needed);
        thread::scope(|scope| {
            let second = scope.spawn(|| drop(semaphore.acquire(Priority::Needed)));
            until_waiting(&semaphore, 1);
            semaphore.set_permits(2);
            second.join().expect("it proceeds while the first permit is taken");
        });
        drop(first);
    }

    #[test]
    fn spare_waits_behind_a_needed_worker() {
        let semaphore = Semaphore::new("test", 1);
        let (sender, order) = mpsc::channel();
        let permit = semaphore.acquire(Priority::Needed);
        thread::scope(|scope| {
            for priority in [Priority::Spare, Priority::Needed] {
                let (semaphore, sender) = (&semaphore, sender.clone());
                scope.spawn(move || {
                    let permit = semaphore.acquire(priority);
                    sender.send(priority).expect("the test receives");
                    drop(permit);
                });
            }
            until_waiting(&semaphore, 1);
            drop(permit);
        });
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [Priority::Needed, Priority::Spare]);
    }

    #[test]
    fn permits_go_to_threads_in_order_of_arrival() {
        let semaphore = Semaphore::new("test", 1);
        let (sender, order) = mpsc::channel();
        let permit = semaphore.acquire(Priority::Needed);
        thread::scope(|scope| {
            for name in 0..3 {
                let (semaphore, sender) = (&semaphore, sender.clone());
                scope.spawn(move || {
                    let permit = semaphore.acquire(Priority::Needed);
                    sender.send(name).expect("the test receives");
                    drop(permit);
                });
                until_waiting(semaphore, name + 1);
            }
            drop(permit);
            let again = semaphore.acquire(Priority::Needed);
            sender.send(9).expect("the test receives");
            drop(again);
        });
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [0, 1, 2, 9]);
    }
}
