//! Cases that run with memory filled.

use std::{sync::Arc, time::Instant};

use twinfer_case::{PoisonPattern, Stage, Task};

use super::{
    TriageWorkers,
    filled_workers::FilledWorkers,
    repeated::{RepeatedRun, take},
};
use crate::{
    device_pools::DevicePools, error::WorkerError, pool::trial::observe, process::WorkerProcess,
    semaphore::Priority, worker_memory::WorkerMemory,
};

/// The most idle workers with memory filled with one pattern: few cases need them, and each takes a place on its device.
const MOST_FILLED: usize = 2;

impl TriageWorkers {
    pub(super) const fn filled(&self, pattern: PoisonPattern) -> &FilledWorkers {
        let [nan, large] = &self.filled;
        match pattern {
            PoisonPattern::Nan => nan,
            PoisonPattern::Large => large,
        }
    }

    pub(super) fn filled_pools(&self, pattern: PoisonPattern) -> Arc<DevicePools> {
        let uses_cuda = self.info.variant.backend.loads_cuda_runtime();
        // without a device that executes, a backend only builds, in memory of the host
        let memory = if uses_cuda && self.info.description.reaches == Stage::Execute {
            WorkerMemory::Filled(pattern)
        } else {
            WorkerMemory::HostFilled(pattern)
        };
        self.confirming_pools().with_memory(memory)
    }

    /// Runs a case `times` times in a worker with memory filled, one that has run others if there is one; in a new one if the case ends
    /// that.
    ///
    /// Gives fewer runs, or none, if no worker starts with memory filled.
    pub fn repeat_filled(
        &self,
        pattern: PoisonPattern,
        task: &Task,
        times: usize,
    ) -> Result<Vec<RepeatedRun>, WorkerError> {
        let begun = Instant::now();
        let (mut turn, idle) = self.filled(pattern).warm.take(self.filled_pools(pattern).start_time());
        self.log_wait(begun, "triage waited for a worker with memory filled");
        match idle.and_then(|worker| self.repeat_in_warm_filled(worker, pattern, task, times)) {
            Some(runs) => Ok(runs),
            None => self.repeat_from(Some(pattern), &[], task, times, || turn.started()),
        }
    }

    /// `None` if the case ends the worker.
    fn repeat_in_warm_filled(
        &self,
        mut worker: WorkerProcess,
        pattern: PoisonPattern,
        task: &Task,
        times: usize,
    ) -> Option<Vec<RepeatedRun>> {
        let _busy = self.busy.acquire(Priority::Needed);
        let run = |observation| RepeatedRun { observation, is_warm: true };
        let runs = (0..times).map(|_| observe(&mut worker, task).map(run)).collect::<Result<_, _>>().ok();
        self.keep_filled(pattern, runs.is_some().then_some(worker));
        runs
    }

    /// Whether no worker starts with this filling although one starts without.
    ///
    /// If none starts without either, that is an error: what prevents it is no property of the filling, and a case that was not repeated may
    /// not count as one that was.
    pub(super) fn only_fillings_are_refused(
        &self,
        filling: Option<PoisonPattern>,
    ) -> Result<bool, WorkerError> {
        let Some(pattern) = filling.filter(|pattern| self.filled_pools(*pattern).are_given_up()) else {
            return Ok(false);
        };
        let are_refused = &self.filled(pattern).are_refused;
        if are_refused.get().is_none() {
            take(self.confirming_pools())?;
            are_refused.get_or_init(|| ());
        }
        Ok(true)
    }

    /// Keeps a worker for more cases.
    pub(super) fn keep_filled(&self, pattern: PoisonPattern, worker: Option<WorkerProcess>) {
        self.keep(self.filled(pattern).warm.idle(), MOST_FILLED, worker);
    }
}
