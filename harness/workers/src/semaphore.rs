use std::{
    num::NonZero,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tracing::debug;

/// Bounds how many threads do something at once. Threads that need a permit get it by their [`Priority`], and in the order in which
/// they came.
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

/// Workers for single cases may start on one core in this many while the cases of a campaign run: they take cores from these, and the start of
/// an executor's worker is not to wait for several others.
const NEEDED: usize = 4;

/// Single cases may have this many permits anyway: the fewest that there are on a small machine.
const LEAST: usize = 2;

/// One permit in this many may go to a spare while the cases of a campaign run: starting one takes cores that they could use.
const SPARES: usize = 8;

/// The same while no case runs, but perhaps the first workers of other variants start.
const EARLY_SPARES: usize = 2;

/// A wait that is long enough to be logged.
pub const LONG_WAIT: Duration = Duration::from_millis(100);

/// How urgently a permit or a worker is needed, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// An executor waits, and with it the cases of a campaign.
    Executor,
    /// A single case waits: one that is investigated, or that runs on a rung.
    Needed,
    /// An executor, a worker of a rung, or a second warm worker is to be added: more runs at once.
    Added,
    /// For a spare, which starts only while no other thread waits.
    Spare,
}

impl Priority {
    /// Every one, the most urgent first.
    const ALL: [Self; 4] = [Self::Executor, Self::Needed, Self::Added, Self::Spare];
}

/// The right to proceed; released when dropped.
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    priority: Priority,
}

#[derive(Default)]
struct State {
    permits: usize,
    /// Of these, the most for single cases while permits are kept for executors.
    most_needed: usize,
    /// Whether permits are kept for executors.
    favors_executors: bool,
    /// By priority.
    queues: [Queue; Priority::ALL.len()],
}

/// The threads of one priority.
#[derive(Clone, Copy, Default)]
struct Queue {
    /// How many have arrived so far, and how many of these have got a permit.
    arrived: u64,
    admitted: u64,
    /// Permits that they hold.
    taken: usize,
}

impl Queue {
    const fn waiting(self) -> u64 {
        self.arrived - self.admitted
    }
}

impl State {
    fn taken(&self) -> usize {
        self.queues.iter().map(|queue| queue.taken).sum()
    }

    /// How many permits may be taken once a spare has one.
    fn most_with_spares(&self) -> usize {
        let share = if self.favors_executors { SPARES } else { EARLY_SPARES };
        (self.permits / share).max(1)
    }

    const fn queue(&mut self, priority: Priority) -> &mut Queue {
        &mut self.queues[priority as usize]
    }

    /// Whether no thread of this priority may have one more permit, even if there is one.
    fn is_full(&self, priority: Priority) -> bool {
        match priority {
            Priority::Executor | Priority::Added => false,
            Priority::Needed => {
                self.favors_executors && self.queues[priority as usize].taken >= self.most_needed
            }
            Priority::Spare => self.taken() >= self.most_with_spares(),
        }
    }

    /// Whether the `number`th thread of this priority has to wait.
    fn is_blocked(&self, priority: Priority, number: u64) -> bool {
        let comes_first = |other: &Priority| {
            *other < priority && self.queues[*other as usize].waiting() > 0 && !self.is_full(*other)
        };
        self.is_full(priority)
            || self.taken() >= self.permits
            || self.queues[priority as usize].admitted < number
            || Priority::ALL.iter().any(comes_first)
    }
}

impl Semaphore {
    /// A semaphore for the workers that start on this machine: as many as there are cores, at most 16.
    pub fn for_worker_starts() -> Self {
        let cores = cores();
        let mut semaphore = Self::new("worker starts", cores.clamp(LEAST, STARTS));
        let state = semaphore.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.most_needed = (cores / NEEDED).clamp(LEAST, STARTS / 2);
        semaphore
    }

    /// Keeps most permits for workers of executors, since the cases of a campaign run.
    pub fn favor_executors(&self) {
        self.state().favors_executors = true;
    }

    /// Lets any workers have all permits, since no case runs any more.
    pub fn stop_favoring_executors(&self) {
        self.state().favors_executors = false;
        self.changed.notify_all();
    }

    /// A semaphore with so many permits. The `name` says what they are for, in the log.
    pub fn new(name: &'static str, permits: usize) -> Self {
        let state = State { permits, most_needed: (permits / NEEDED).max(LEAST), ..State::default() };
        Self { name, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// How many permits are taken, and how many threads wait for one.
    pub fn taken_and_awaited(&self) -> (u64, u64) {
        let state = self.state();
        (state.taken() as u64, state.queues.iter().map(|queue| queue.waiting()).sum())
    }

    /// Waits for a permit.
    pub fn acquire(&self, priority: Priority) -> Permit<'_> {
        let begun = Instant::now();
        let found = self.wait(priority);
        let waited = begun.elapsed();
        if waited >= LONG_WAIT {
            let [executors, needed, added, spares] = found.map(|queue| queue.taken);
            let ahead: u64 = found[..=priority as usize].iter().map(|queue| queue.waiting()).sum();
            let (semaphore, millis) = (self.name, waited.as_millis() as u64);
            // who had the permits, and how many came first, when the wait began
            debug!(
                semaphore,
                ?priority,
                millis,
                executors,
                needed,
                added,
                spares,
                ahead,
                "waited for a permit"
            );
        }
        Permit { semaphore: self, priority }
    }

    /// Waits for a permit, and returns the queues as they were before.
    fn wait(&self, priority: Priority) -> [Queue; Priority::ALL.len()] {
        let mut state = self.state();
        let found = state.queues;
        let number = state.queue(priority).arrived;
        state.queue(priority).arrived += 1;
        let is_blocked = |state: &mut State| state.is_blocked(priority, number);
        let mut state = self.changed.wait_while(state, is_blocked).unwrap_or_else(PoisonError::into_inner);
        state.queue(priority).admitted += 1;
        state.queue(priority).taken += 1;
        drop(state);
        // the next thread may proceed too
        self.changed.notify_all();
        found
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
        self.semaphore.state().queue(self.priority).taken -= 1;
        self.semaphore.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Waits until so many threads wait for a permit.
    fn until_waiting(semaphore: &Semaphore, threads: u64) {
        let begun = Instant::now();
        let waiting = || semaphore.state().queues.iter().map(|queue| queue.waiting()).sum::<u64>();
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
            assert_eq!(semaphore.state().taken(), 2);
            drop(first);
            third.join().expect("it proceeds once a permit is released");
        });
    }

    #[test]
    fn permits_go_to_executors_first_and_to_spares_last() {
        let semaphore = Semaphore::new("test", 1);
        let (sender, order) = mpsc::channel();
        let permit = semaphore.acquire(Priority::Needed);
        thread::scope(|scope| {
            for (waiting, priority) in (1..).zip(Priority::ALL.into_iter().rev()) {
                let (semaphore, sender) = (&semaphore, sender.clone());
                scope.spawn(move || {
                    let permit = semaphore.acquire(priority);
                    sender.send(priority).expect("the test receives");
                    drop(permit);
                });
                until_waiting(semaphore, waiting);
            }
            drop(permit);
        });
        let order: Vec<_> = order.try_iter().collect();
        assert_eq!(order, Priority::ALL);
    }

    #[test]
    fn permits_are_kept_for_executors_while_cases_run() {
        let semaphore = Semaphore::new("test", 4);
        semaphore.favor_executors();
        let _single = [Priority::Needed; 2].map(|priority| semaphore.acquire(priority));
        thread::scope(|scope| {
            let third = scope.spawn(|| drop(semaphore.acquire(Priority::Needed)));
            until_waiting(&semaphore, 1);
            let executors = [Priority::Executor; 2].map(|priority| semaphore.acquire(priority));
            assert_eq!(semaphore.state().taken(), 4);
            drop(executors);
            assert_eq!(semaphore.state().queues[Priority::Needed as usize].waiting(), 1);
            semaphore.stop_favoring_executors();
            third.join().expect("it proceeds once no case runs");
        });
    }

    #[test]
    fn added_executors_wait_only_for_single_cases_that_may_proceed() {
        let semaphore = Semaphore::new("test", 4);
        semaphore.favor_executors();
        let _single = [Priority::Needed; 2].map(|priority| semaphore.acquire(priority));
        thread::scope(|scope| {
            let third = scope.spawn(|| drop(semaphore.acquire(Priority::Needed)));
            until_waiting(&semaphore, 1);
            drop(semaphore.acquire(Priority::Added));
            semaphore.stop_favoring_executors();
            third.join().expect("it proceeds once no case runs");
        });
    }

    #[test]
    fn spares_start_on_half_of_the_cores_while_no_case_runs() {
        let most = |cores, cases_run| {
            let semaphore = Semaphore::new("test", cores);
            if cases_run {
                semaphore.favor_executors();
            }
            semaphore.state().most_with_spares()
        };
        assert_eq!([most(2, false), most(4, false), most(16, false)], [1, 2, 8]);
        assert_eq!([most(2, true), most(4, true), most(16, true)], [1, 1, 2]);
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
