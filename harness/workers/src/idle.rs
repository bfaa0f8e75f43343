//! *Idle workers* are kept because starting a worker takes seconds. On a device that serves only so many processes the one that has been
//! idle longest makes room for a worker that is needed now.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Instant,
};

use crate::{device::Device, process::WorkerProcess};

/// Workers that wait for a case, each with what `W` knows of it besides.
pub struct IdleWorkers<W = WorkerProcess>(Mutex<Vec<(Instant, W)>>);

/// Something that keeps idle workers.
pub trait KeepsIdle: Send + Sync {
    /// Since when the worker on a device that has been idle longest is idle; `None` if there is none.
    fn longest_idle(&self, device: &Device) -> Option<Instant>;

    /// Gives up that worker, which ends when the result is dropped.
    fn give_up(&self, device: &Device) -> Option<WorkerProcess>;
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
    fn longest_idle(&self, device: &Device) -> Option<Instant> {
        let workers = self.workers();
        workers.iter().find(|(_, worker)| worker.as_ref().uses(device)).map(|(since, _)| *since)
    }

    fn give_up(&self, device: &Device) -> Option<WorkerProcess> {
        let mut workers = self.workers();
        let place = workers.iter().position(|(_, worker)| worker.as_ref().uses(device))?;
        Some(workers.remove(place).1.into())
    }
}

impl IdleRegistry {
    /// Has idle workers of `keeper` make room, as long as it exists.
    pub fn add(&self, keeper: &Arc<impl KeepsIdle + 'static>) {
        let keeper: Weak<_> = Arc::downgrade(keeper);
        self.keepers().push(keeper);
    }

    /// Ends the worker on `device` that has been idle longest; false if there is none.
    pub fn make_room(&self, device: &Device) -> bool {
        let keepers: Vec<_> = {
            let mut keepers = self.keepers();
            keepers.retain(|keeper| keeper.strong_count() > 0);
            keepers.iter().filter_map(Weak::upgrade).collect()
        };
        let since = |keeper: &Arc<dyn KeepsIdle>| keeper.longest_idle(device);
        let longest =
            keepers.iter().filter_map(|keeper| Some((since(keeper)?, keeper))).min_by_key(|one| one.0);
        longest.and_then(|(_, keeper)| keeper.give_up(device)).is_some()
    }

    fn keepers(&self) -> MutexGuard<'_, Vec<Weak<dyn KeepsIdle>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
