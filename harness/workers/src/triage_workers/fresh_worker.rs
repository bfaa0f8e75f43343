use twinfer_case::{Observation, Task};

use super::TriageWorkers;
use crate::{error::WorkerError, pool::trial::observe, process::WorkerProcess, semaphore::Priority};

/// A worker that had run nothing before the tasks that it is given here, and that [confirms](TriageWorkers::confirming_info). It starts with
/// the first of them.
pub struct FreshWorker<'a> {
    workers: &'a TriageWorkers,
    process: Option<WorkerProcess>,
}

impl TriageWorkers {
    /// A worker for several tasks that belong together.
    pub const fn fresh(&self) -> FreshWorker<'_> {
        FreshWorker { workers: self, process: None }
    }
}

impl FreshWorker<'_> {
    /// Runs a task. One that ends the worker runs again in another one that has run nothing, and what happens there counts.
    pub fn observe(&mut self, task: &Task) -> Result<Observation, WorkerError> {
        let _busy = self.workers.busy.acquire(Priority::Needed);
        if let Some(mut process) = self.process.take()
            && let Ok(observation) = observe(&mut process, task)
        {
            self.process = Some(process).filter(|process| !process.is_spent());
            return Ok(observation);
        }
        let trial = self.workers.confirming_pools().try_fresh(task, None)?;
        self.process = trial.survivor;
        Ok(trial.observation)
    }
}

impl Drop for FreshWorker<'_> {
    fn drop(&mut self) {
        if self.workers.confirming.is_none() {
            self.workers.keep_warm(self.process.take());
        }
    }
}
