use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    device::Device,
    idle::{KeepsIdle, dispensability, is_on},
    process::{SLOW_START, WorkerProcess},
    semaphore::Priority,
};

/// How many spares a pool keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct SparePolicy {
    /// The number of spares to keep ready.
    pub least: usize,
    /// The limit on spares that are requested in addition, which takes effect if workers take long to start.
    pub most: usize,
}

/// A request for spares that will be needed soon; withdrawn when dropped.
pub struct SpareRequest {
    spares: Arc<Spares>,
    workers: usize,
}

/// Started workers that have run nothing, and those that are starting.
pub struct Spares {
    policy: SparePolicy,
    state: Mutex<State>,
    /// Notified when a spare is ready or did not start.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Each with when it was.
    ready: VecDeque<(Instant, WorkerProcess)>,
    starting: usize,
    /// Spares among `starting` whose process has been spawned, or is about to be.
    spawned: usize,
    /// Threads that want a spare, the most urgent first and otherwise in the order in which they came.
    takers: Vec<Taker>,
    /// How many of them have come so far.
    arrived: u64,
    requested: usize,
    /// How long the last worker took to start.
    start_time: Duration,
}

/// A thread that wants a spare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Taker {
    priority: Priority,
    number: u64,
}

/// What becomes of a thread that wants a spare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prospect {
    /// One is ready for it.
    Ready,
    /// One is starting for it.
    Starting,
    /// There are not enough for it.
    None,
}

/// A spare that is starting; threads that wait for it are notified when this is dropped.
pub struct StartingSpare {
    spares: Arc<Spares>,
    is_spawned: bool,
}

impl Spares {
    /// No spares yet.
    pub fn new(policy: SparePolicy) -> Self {
        Self { policy, state: Mutex::default(), changed: Condvar::new() }
    }

    /// No spares yet of workers that take about as long to start as these.
    pub fn of_others(&self, policy: SparePolicy) -> Self {
        let spares = Self::new(policy);
        spares.record_start(self.start_time());
        spares
    }

    /// How many spares are kept.
    pub const fn policy(&self) -> SparePolicy {
        self.policy
    }

    /// Takes a spare that is ready, or waits for one that is spawned. `None` if more urgent threads, or as urgent ones that came first, want all
    /// that there are, or if the one to wait for did not start.
    pub fn take(&self, priority: Priority) -> Option<WorkerProcess> {
        let mut state = self.state();
        let taker = state.add_taker(priority);
        // a less urgent one may have waited for the same spare
        self.changed.notify_all();
        let waits = |state: &mut State| state.prospect(taker) == Prospect::Starting;
        state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        let worker = if state.prospect(taker) == Prospect::Ready { state.take_ready() } else { None };
        state.takers.retain(|other| *other != taker);
        drop(state);
        self.changed.notify_all();
        worker
    }

    /// Raises the number of spares to keep.
    pub fn request(self: &Arc<Self>, workers: usize) -> SpareRequest {
        self.state().requested += workers;
        SpareRequest { spares: Arc::clone(self), workers }
    }

    /// How long the last worker took to start; zero before one has.
    pub fn start_time(&self) -> Duration {
        self.state().start_time
    }

    /// Records how long a worker took to start, which decides whether requests take effect.
    pub fn record_start(&self, time: Duration) {
        self.state().start_time = time;
    }

    /// Counts a spare that the caller starts; `None` if there are enough.
    pub fn begin_start(self: &Arc<Self>) -> Option<StartingSpare> {
        let mut state = self.state();
        if state.ready.len() + state.starting >= self.policy.wanted(&state) {
            return None;
        }
        state.starting += 1;
        drop(state);
        Some(StartingSpare { spares: Arc::clone(self), is_spawned: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add_taker(&mut self, priority: Priority) -> Taker {
        let taker = Taker { priority, number: self.arrived };
        self.arrived += 1;
        let place = self.takers.partition_point(|other| *other < taker);
        self.takers.insert(place, taker);
        taker
    }

    fn prospect(&self, taker: Taker) -> Prospect {
        let ahead = self.takers.iter().filter(|other| **other < taker).count();
        match ahead {
            ahead if ahead < self.ready.len() => Prospect::Ready,
            ahead if ahead < self.ready.len() + self.spawned => Prospect::Starting,
            _ => Prospect::None,
        }
    }

    fn take_ready(&mut self) -> Option<WorkerProcess> {
        self.ready.pop_front().map(|(_, worker)| worker)
    }
}

impl KeepsIdle for Spares {
    fn most_dispensable(&self, device: Option<&Device>) -> Option<f64> {
        let state = self.state();
        let (since, worker) = state.ready.iter().find(|(_, worker)| is_on(worker, device))?;
        Some(dispensability(*since, worker))
    }

    fn give_up(&self, device: Option<&Device>) -> Option<WorkerProcess> {
        let mut state = self.state();
        let place = state.ready.iter().position(|(_, worker)| is_on(worker, device))?;
        state.ready.remove(place).map(|(_, worker)| worker)
    }
}

impl SparePolicy {
    fn wanted(self, state: &State) -> usize {
        let requested = if state.start_time < SLOW_START { 0 } else { state.requested };
        requested.min(self.most).max(self.least)
    }
}

impl StartingSpare {
    /// The process is about to be spawned: from now on threads may wait for it.
    pub fn spawn(&mut self) {
        self.is_spawned = true;
        self.spares.state().spawned += 1;
    }

    /// The worker has started.
    pub fn ready(self, worker: WorkerProcess) {
        self.spares.state().ready.push_back((Instant::now(), worker));
    }
}

impl Drop for StartingSpare {
    fn drop(&mut self) {
        let mut state = self.spares.state();
        state.starting -= 1;
        state.spawned -= usize::from(self.is_spawned);
        drop(state);
        self.spares.changed.notify_all();
    }
}

impl SpareRequest {
    /// How many workers are requested.
    pub const fn workers(&self) -> usize {
        self.workers
    }
}

impl Drop for SpareRequest {
    fn drop(&mut self) {
        self.spares.state().requested -= self.workers;
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{self, JoinHandle};

    use super::*;

    const POLICY: SparePolicy = SparePolicy { least: 1, most: 3 };

    /// How many spares start one after the other, none of which is taken.
    fn started(spares: &Arc<Spares>) -> usize {
        let starting: Vec<_> = std::iter::from_fn(|| spares.begin_start()).collect();
        starting.len()
    }

    #[test]
    fn requests_for_slow_workers_are_met_up_to_the_limit() {
        let spares = Arc::new(Spares::new(POLICY));
        spares.record_start(SLOW_START);
        assert_eq!(started(&spares), POLICY.least);
        let _two = spares.request(2);
        assert_eq!(started(&spares), 2);
        let five = spares.request(5);
        assert_eq!(started(&spares), POLICY.most);
        drop(five);
        assert_eq!(started(&spares), 2);
    }

    #[test]
    fn requests_for_fast_workers_have_no_effect() {
        let spares = Arc::new(Spares::new(POLICY));
        let _request = spares.request(3);
        assert_eq!(started(&spares), POLICY.least);
    }

    /// Takes a spare in a thread of its own, and returns once it waits; the thread says whether it got none.
    fn taken_in_thread(spares: &Arc<Spares>, priority: Priority) -> JoinHandle<bool> {
        let (taker, before) = (Arc::clone(spares), spares.state().arrived);
        let thread = thread::spawn(move || taker.take(priority).is_none());
        while spares.state().arrived == before {
            thread::yield_now();
        }
        thread
    }

    #[test]
    fn taking_a_spare_that_does_not_start_returns_none() {
        let spares = Arc::new(Spares::new(POLICY));
        let take = || spares.take(Priority::Needed);
        assert!(take().is_none(), "none is starting");
        let mut starting = spares.begin_start().unwrap();
        assert!(take().is_none(), "its process is not spawned");
        starting.spawn();
        let taken = taken_in_thread(&spares, Priority::Needed);
        drop(starting);
        assert!(taken.join().unwrap());
    }

    #[test]
    fn a_spare_that_is_starting_goes_to_the_most_urgent_thread() {
        let spares = Arc::new(Spares::new(POLICY));
        let mut starting = spares.begin_start().unwrap();
        starting.spawn();
        let added = taken_in_thread(&spares, Priority::Added);
        let needed = taken_in_thread(&spares, Priority::Needed);
        assert!(added.join().unwrap(), "another one wants it more urgently");
        assert!(spares.take(Priority::Needed).is_none(), "one as urgent came first");
        assert!(!needed.is_finished(), "it waits for the spare");
        drop(starting);
        assert!(needed.join().unwrap());
    }
}
