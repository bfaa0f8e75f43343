use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    device::Device,
    idle::{KeepsIdle, dispensability, is_on},
    process::{SLOW_START, WorkerProcess},
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
    /// Threads that wait for a spawned spare.
    awaited: usize,
    requested: usize,
    /// How long the last worker took to start.
    start_time: Duration,
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

    /// Takes a spare that is ready, or waits for one that is spawned and that no other thread waits for. `None` if there is neither,
    /// or the awaited one did not start.
    pub fn take(&self) -> Option<WorkerProcess> {
        let mut state = self.state();
        if !state.ready.is_empty() || state.awaited >= state.spawned {
            return state.take_ready();
        }
        state.awaited += 1;
        let is_coming = |state: &mut State| state.ready.is_empty() && state.awaited <= state.spawned;
        state = self.changed.wait_while(state, is_coming).unwrap_or_else(PoisonError::into_inner);
        state.awaited -= 1;
        state.take_ready()
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

    #[test]
    fn taking_a_spare_that_does_not_start_returns_none() {
        let spares = Arc::new(Spares::new(POLICY));
        assert!(spares.take().is_none(), "none is starting");
        let mut starting = spares.begin_start().unwrap();
        assert!(spares.take().is_none(), "its process is not spawned");
        starting.spawn();
        let taker = Arc::clone(&spares);
        let taken = std::thread::spawn(move || taker.take().is_none());
        while spares.state().awaited == 0 {
            std::thread::yield_now();
        }
        drop(starting);
        assert!(taken.join().unwrap());
    }
}
