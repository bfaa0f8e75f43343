//! *Idle workers* are kept because starting a worker takes seconds. On a device that serves only so many processes, and where memory is
//! short, one makes room for a worker that is needed now: the one that has been idle longest, in proportion to the time that it took to start. Where
//! memory is short, one that is likely to be needed again soon does so only if nothing else does for a while.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use tracing::debug;

use crate::{device::Device, process::WorkerProcess};

/// How long a worker that is needed now waits for others to end before any idle one makes room.
const PATIENCE: Duration = Duration::from_secs(10);

/// While it waits, idle workers make room that have been idle this many times as long as they took to start. A rung's worker runs a case every half
/// minute or so, and takes a quarter of a minute of processor time to start.
const WORTH_KEEPING: f64 = 4.0;

/// Workers that wait for a case, each with what `W` knows of it besides.
pub struct IdleWorkers<W = WorkerProcess>(Mutex<Vec<(Instant, W)>>);

/// Something that keeps idle workers.
pub trait KeepsIdle: Send + Sync {
    /// How [dispensable](dispensability) the most dispensable worker on a device is, or with `None`, on any or none; `None` if there is none.
    fn most_dispensable(&self, device: Option<&Device>) -> Option<f64>;

    /// Gives up that worker, which ends when the result is dropped.
    fn give_up(&self, device: Option<&Device>) -> Option<WorkerProcess>;
}

/// How [dispensable](dispensability) an idle worker has to be to make room for one that has waited so long for it.
pub fn required_dispensability(waited: Duration) -> f64 {
    if waited < PATIENCE { WORTH_KEEPING } else { 0.0 }
}

/// How dispensable a worker is that is idle since then: how many times as long as it took to start it has been idle.
pub fn dispensability(since: Instant, worker: &WorkerProcess) -> f64 {
    times_as_long(since.elapsed(), worker.start_time())
}

/// Whether a worker uses `device`; true of every worker with `None`.
pub fn is_on(worker: &WorkerProcess, device: Option<&Device>) -> bool {
    device.is_none_or(|device| worker.uses(device))
}

fn times_as_long(idle: Duration, start: Duration) -> f64 {
    idle.as_secs_f64() / start.max(Duration::from_millis(1)).as_secs_f64()
}

/// Everything on this machine that keeps idle workers.
#[derive(Clone, Default)]
pub struct IdleRegistry(Arc<Mutex<Vec<Weak<dyn KeepsIdle>>>>);

impl<W> Default for IdleWorkers<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W> IdleWorkers<W> {
    /// Keeps a worker that is idle from now on.
    pub fn push(&self, worker: W) {
        self.workers().push((Instant::now(), worker));
    }

    /// Takes the worker that became idle last.
    pub fn pop(&self) -> Option<W> {
        self.workers().pop().map(|(_, worker)| worker)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.workers().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn workers(&self) -> MutexGuard<'_, Vec<(Instant, W)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: AsRef<WorkerProcess> + Into<WorkerProcess> + Send> KeepsIdle for IdleWorkers<W> {
    // workers of one keeper take about as long to start
    fn most_dispensable(&self, device: Option<&Device>) -> Option<f64> {
        let workers = self.workers();
        let (since, worker) = workers.iter().find(|(_, worker)| is_on(worker.as_ref(), device))?;
        Some(dispensability(*since, worker.as_ref()))
    }

    fn give_up(&self, device: Option<&Device>) -> Option<WorkerProcess> {
        let mut workers = self.workers();
        let place = workers.iter().position(|(_, worker)| is_on(worker.as_ref(), device))?;
        Some(workers.remove(place).1.into())
    }
}

impl IdleRegistry {
    /// Has idle workers of `keeper` make room, as long as it exists.
    pub fn add(&self, keeper: &Arc<impl KeepsIdle + 'static>) {
        let keeper: Weak<_> = Arc::downgrade(keeper);
        self.keepers().push(keeper);
    }

    /// Ends the most dispensable worker on `device`, or with `None`, of all; false if there is none that is at `least` so dispensable.
    pub fn make_room(&self, device: Option<&Device>, least: f64) -> bool {
        let keepers: Vec<_> = {
            let mut keepers = self.keepers();
            keepers.retain(|keeper| keeper.strong_count() > 0);
            keepers.iter().filter_map(Weak::upgrade).collect()
        };
        let ranked = keepers.iter().filter_map(|keeper| Some((keeper.most_dispensable(device)?, keeper)));
        let most_dispensable = ranked.max_by(|(one, _), (other, _)| one.total_cmp(other));
        let Some((dispensability, keeper)) = most_dispensable.filter(|(most, _)| *most >= least) else {
            return false;
        };
        let Some(worker) = keeper.give_up(device) else { return false };
        let (pid, is_for_memory, start_millis) = (worker.pid(), device.is_none(), worker.start_millis());
        debug!(pid, is_for_memory, start_millis, dispensability, "idle worker makes room");
        true
    }

    fn keepers(&self) -> MutexGuard<'_, Vec<Weak<dyn KeepsIdle>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_start_slowly_are_kept_longer() {
        let seconds = Duration::from_secs;
        assert!(times_as_long(seconds(20), seconds(15)) < times_as_long(seconds(5), seconds(1)));
        assert!(times_as_long(seconds(20), seconds(15)) > times_as_long(seconds(5), seconds(15)));
        assert!(times_as_long(seconds(1), Duration::ZERO).is_finite());
    }

    #[test]
    fn worker_that_may_be_needed_again_makes_room_only_after_a_wait() {
        let seconds = Duration::from_secs;
        let between_cases = times_as_long(seconds(40), seconds(15));
        assert!(between_cases < required_dispensability(Duration::ZERO));
        assert!(between_cases >= required_dispensability(PATIENCE));
        assert!(times_as_long(seconds(8), seconds(2)) >= required_dispensability(Duration::ZERO));
    }
}
