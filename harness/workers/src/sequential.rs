use std::time::Instant;

use twinfer_case::{Observation, Stage, Task};

use crate::{
    device_pools::DevicePools,
    error::WorkerError,
    idle::IdleRegistry,
    loss::Loss,
    pool::trial::{observe, timed},
    process::{WorkerProcess, accounting::WorkKind},
    recent_cases::RecentCases,
    semaphore::{Priority, Semaphore},
    turns::WorkersInTurn,
};

/// Workers that run cases of the campaign one after the other and nothing else, so that a divergence that needs preceding cases
/// can be reproduced.
#[derive(Default)]
pub struct SequentialWorkers(WorkersInTurn<Worker>);

struct Worker {
    process: WorkerProcess,
    recent: RecentCases,
}

/// The result of running a case in a sequential worker.
pub struct SequentialRun {
    /// What the variant did with the case.
    pub observation: Observation,
    /// The cases that the worker ran before, oldest first, as indices in the campaign.
    pub preceding: Vec<u64>,
    /// The loss of the first worker that ran the case, and the stage it was in; `None` if the worker survived.
    pub lost: Option<(Stage, Loss)>,
}

impl SequentialWorkers {
    /// Has idle workers make room for others.
    pub fn register(&self, registry: &IdleRegistry) {
        registry.add(self.0.idle());
    }

    /// Adds a worker that has run nothing.
    pub fn add(&self, process: WorkerProcess) {
        self.0.idle().push(Worker { process, recent: RecentCases::default() });
    }

    /// Runs the case at `index` in an idle worker, or in a new one of `pools`, with a permit to be `busy`.
    pub fn observe(
        &self,
        pools: &DevicePools,
        busy: &Semaphore,
        index: u64,
        task: &Task,
    ) -> Result<SequentialRun, WorkerError> {
        let (mut turn, idle) = self.0.take(pools.start_time());
        let _busy = busy.acquire(Priority::Needed);
        let mut worker = match idle {
            Some(worker) => worker,
            None => Worker { process: pools.take(Priority::Added)?, recent: RecentCases::default() },
        };
        // a case with poisoned memory is one of the campaign
        let is_rung = !pools.variant().is_poisoned();
        worker.process.set_kind(if is_rung { WorkKind::Rungs } else { WorkKind::Cases });
        turn.started();
        let since = Instant::now();
        match observe(&mut worker.process, task) {
            Ok(observation) => {
                let (preceding, observation) = (worker.recent.preceding(), timed(observation, since));
                self.put_back(worker, index);
                Ok(SequentialRun { observation, preceding, lost: None })
            }
            Err((stage, loss)) => {
                drop(worker);
                let trial = pools.try_fresh(task, Some(&loss))?;
                let observation = timed(trial.observation, since);
                if let Some(process) = trial.survivor {
                    self.put_back(Worker { process, recent: RecentCases::default() }, index);
                }
                Ok(SequentialRun { observation, preceding: Vec::new(), lost: Some((stage, loss)) })
            }
        }
    }

    /// Makes a worker idle that has run the case at `index`, unless it accepts no more cases.
    fn put_back(&self, mut worker: Worker, index: u64) {
        if !worker.process.is_spent() {
            worker.recent.push(index);
            self.0.idle().push(worker);
        }
    }
}

impl AsRef<WorkerProcess> for Worker {
    fn as_ref(&self) -> &WorkerProcess {
        &self.process
    }
}

impl From<Worker> for WorkerProcess {
    fn from(worker: Worker) -> Self {
        worker.process
    }
}
