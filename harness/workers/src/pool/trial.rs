//! Running one case in one worker, and reading what the loss of the worker means for the case.

use std::time::Instant;

use twinfer_case::{LogLine, Observation, Outcome, Severity, Stage, Task, Timing, Variant};

use crate::{
    error::WorkerError,
    loss::Loss,
    process::{Reply, WorkerProcess},
    semaphore::Priority,
};

/// The result of running a case in a fresh worker.
pub struct Trial {
    /// What the variant did with the case: a crash or a hang if that recurred.
    pub observation: Observation,
    /// The worker; `None` if the case ended it, or it accepts no more cases.
    pub survivor: Option<WorkerProcess>,
}

impl Trial {
    /// Whether the case ended its workers.
    pub const fn is_lost(&self) -> bool {
        matches!(self.observation.outcome, Outcome::Crashed(_) | Outcome::TimedOut)
    }
}

/// Runs one case in `worker`, after waiting for the worker's turn on its device.
pub fn observe(worker: &mut WorkerProcess, task: &Task) -> Result<Observation, (Stage, Loss)> {
    let observed = try_observe(worker, task);
    if let Err((stage, loss)) = &observed {
        worker.log_loss(*stage, None, loss);
    }
    observed
}

fn try_observe(worker: &mut WorkerProcess, task: &Task) -> Result<Observation, (Stage, Loss)> {
    let turn = worker.turn();
    let _permit = turn.as_deref().map(|turn| turn.acquire(Priority::Needed));
    let mut stage = Stage::Load;
    worker.send(task).and_then(|()| worker.flush()).map_err(|loss| (stage, loss))?;
    loop {
        match worker.receive(stage, task) {
            Ok(Reply::Entered(hash, entered)) if hash == task.hash => stage = entered,
            Ok(Reply::Observed(hash, observation)) if hash == task.hash => return Ok(*observation),
            Ok(_) => return Err((stage, Loss::other_case())),
            Err(loss) => return Err((stage, loss)),
        }
    }
}

/// Adds the time since `since`, when the worker began the case, if the backend reported no times.
pub fn timed(mut observation: Observation, since: Instant) -> Observation {
    if observation.timings.is_empty() {
        let micros = since.elapsed().as_micros() as u64;
        observation.timings.push(Timing { stage: observation.stage, micros });
    }
    observation
}

/// The observation of a case that ends its worker; an error if the harness is to blame.
pub fn lost(variant: &Variant, stage: Stage, loss: &Loss) -> Result<Observation, WorkerError> {
    let (outcome, last_line) = match loss {
        Loss::TimedOut | Loss::Suspected => (Outcome::TimedOut, None),
        Loss::Died(death) => (Outcome::Crashed(death.status.clone()), death.last_line.clone()),
        Loss::Garbled(reason) => (Outcome::Crashed("garbled pipe".to_owned()), Some(reason.clone())),
        Loss::Exceeded(excess) if !excess.is_of_limit() => {
            (Outcome::Crashed(format!("{} limit", excess.resource)), Some(excess.to_string()))
        }
        Loss::Exceeded(_) | Loss::Fault(_) | Loss::Spent => {
            return Err(WorkerError::of_loss(variant, loss));
        }
    };
    let log = last_line.map(|text| LogLine { severity: Severity::Fatal, stage, text });
    Ok(Observation { log: log.into_iter().collect(), ..Observation::new(stage, outcome) })
}
