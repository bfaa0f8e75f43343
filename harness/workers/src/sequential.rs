use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use twinfer_case::{Observation, Stage, Task};

use crate::{
    WorkerError,
    device_pools::DevicePools,
    pool::{WorkerPool, observe, timed},
    process::{Loss, WorkerProcess},
    recent_cases::RecentCases,
};

/// Workers that run cases of the campaign, one after the other, and nothing else: what goes wrong there only after
/// other cases can be shown again.
#[derive(Default)]
pub struct SequentialWorkers(Mutex<Vec<Worker>>);

struct Worker {
    process: WorkerProcess,
    past: RecentCases,
}

/// What became of a case in a steady worker.
pub struct SequentialRun {
    /// What was observed.
    pub observation: Observation,
    /// The cases that the worker ran before, oldest first, as places in the campaign.
    pub preceding: Vec<u64>,
    /// How the worker was lost that had the case first, and during which stage.
    pub lost: Option<(Stage, Loss)>,
}

impl SequentialWorkers {
    /// Lets a worker join that has run nothing.
    pub fn join(&self, process: WorkerProcess) {
        self.wait(Worker { process, past: RecentCases::default() });
    }

    /// Runs the case at `index` in a worker that waits, or in one of `site`.
    pub fn observe(&self, site: &DevicePools, index: u64, task: &Task) -> Result<SequentialRun, WorkerError> {
        let waiting = self.lock().pop();
        let mut worker = match waiting {
            Some(worker) => worker,
            None => Worker { process: site.somewhere(WorkerPool::take)?, past: RecentCases::default() },
        };
        let since = Instant::now();
        match observe(&mut worker.process, task) {
            Ok(observation) => {
                let (preceding, observation) = (worker.past.preceding(), timed(observation, since));
                self.go_on(worker, index);
                Ok(SequentialRun { observation, preceding, lost: None })
            }
            Err((stage, loss)) => {
                drop(worker);
                let trial = site.try_fresh(task, Some(&loss))?;
                let observation = timed(trial.observation, since);
                if let Some(process) = trial.survivor {
                    self.go_on(Worker { process, past: RecentCases::default() }, index);
                }
                Ok(SequentialRun { observation, preceding: Vec::new(), lost: Some((stage, loss)) })
            }
        }
    }

    /// Lets a worker wait that has run the case at `index`, unless it is of no more use.
    fn go_on(&self, mut worker: Worker, index: u64) {
        if !worker.process.is_spent() {
            worker.past.remember(index);
            self.wait(worker);
        }
    }

    fn wait(&self, worker: Worker) {
        self.lock().push(worker);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
