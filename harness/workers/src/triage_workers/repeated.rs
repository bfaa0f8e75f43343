//! A case that runs several times.

use std::sync::Arc;

use twinfer_case::{EncodedCase, Observation, Outcome, Task};

use crate::{
    device_pools::DevicePools,
    error::WorkerError,
    pool::{
        ATTEMPTS, WorkerPool,
        trial::{lost, observe},
    },
    process::WorkerProcess,
    semaphore::Priority,
};

/// One run of a case that is [repeated](TriageWorkers::repeat).
pub struct RepeatedRun {
    /// What the variant did with the case.
    pub observation: Observation,
    /// Whether the worker had run a case before.
    pub is_warm: bool,
}

/// A worker that has run `earlier` and nothing else, with its pool; `None` if one of those cases ends it.
pub(super) fn take_after(
    pools: &DevicePools,
    earlier: &[&Task],
) -> Result<Option<(Arc<WorkerPool>, WorkerProcess)>, WorkerError> {
    for _ in 0..ATTEMPTS {
        let (pool, mut worker) = take(pools)?;
        match earlier.iter().find_map(|task| observe(&mut worker, task).err()) {
            None => return Ok(Some((pool, worker))),
            Some((_, loss)) if loss.is_from_outside() => {}
            Some(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// A worker that has run nothing, with its pool.
pub(super) fn take(pools: &DevicePools) -> Result<(Arc<WorkerPool>, WorkerProcess), WorkerError> {
    pools.on_any(|pool| Ok((Arc::clone(pool), pool.take(Priority::Needed)?)))
}

/// Runs a case `times` times, each time in the worker of the run before, as long as that one lives; with the last worker if it still does.
/// `started` is called whenever a worker is there.
pub(super) fn repeat(
    pools: &DevicePools,
    history: &[Arc<EncodedCase>],
    task: &Task,
    times: usize,
    mut started: impl FnMut(),
) -> Result<(Vec<RepeatedRun>, Option<WorkerProcess>), WorkerError> {
    let history: Vec<_> = history.iter().map(|earlier| &earlier.task).collect();
    let (mut earlier, mut runs, mut survivor, mut killed) = (history.clone(), Vec::new(), None, 0);
    while runs.len() < times {
        let (pool, mut worker, is_warm) = if let Some((pool, worker)) = survivor.take() {
            (pool, worker, true)
        } else if let Some((pool, worker)) = take_after(pools, &earlier)? {
            (pool, worker, !earlier.is_empty())
        } else {
            let (pool, worker) = take(pools)?;
            (pool, worker, false)
        };
        started();
        earlier.clone_from(&history);
        match observe(&mut worker, task) {
            Ok(observation) => {
                runs.push(RepeatedRun { observation, is_warm });
                survivor = Some((pool, worker)).filter(|(_, worker)| !worker.is_spent());
            }
            Err((_, loss)) if loss.is_from_outside() && killed + 1 < ATTEMPTS => {
                killed += 1;
                // the next worker is to be as warm as this one
                earlier.extend(is_warm.then_some(task));
            }
            Err((stage, loss)) => {
                drop(worker);
                let (observation, is_warm) = match runs_elsewhere(pools, &pool, task)? {
                    Some(observation) => (observation, false),
                    None => (lost(pools.variant(), stage, &loss)?, is_warm),
                };
                let has_hung = observation.outcome == Outcome::TimedOut;
                runs.push(RepeatedRun { observation, is_warm });
                if has_hung {
                    break;
                }
            }
        }
    }
    Ok((runs, survivor.map(|(_, worker)| worker)))
}

/// What a case that ends its worker does on another device than that of `pool`; `None` if it ends its worker there too, or if
/// there is no other device.
fn runs_elsewhere(
    pools: &DevicePools,
    pool: &Arc<WorkerPool>,
    task: &Task,
) -> Result<Option<Observation>, WorkerError> {
    let Some(other) = pools.other_than(pool) else { return Ok(None) };
    let observation = observe(&mut other.take(Priority::Needed)?, task).ok();
    if observation.is_some() {
        pool.health().record_failure();
    }
    Ok(observation)
}
