//! A *batch*: a worker that receives a few cases at once and ends by itself, as a program that watches it needs.

use std::{
    io::{BufReader, Write},
    process::ChildStdout,
    slice, thread,
    time::Duration,
};

use twinfer_case::{Observation, Task, TrustedVariant};
use twinfer_protocol::{FromWorker, PROTOCOL_VERSION, ToWorker, read_from_worker};

use crate::{
    error::WorkerError,
    loss::Loss,
    process::{
        command::WorkerCommand, launch::Launch, pipe::Pipe, spawned::SpawnedWorker, watchdog::Watchdog,
    },
};

/// Runs cases in a worker of its own, one after the other, and waits until the worker and whatever `command` starts it under have
/// ended, all within `limit`. What is then left of their process group is killed. Fewer observations than cases come back if the
/// worker ends or is late before the last.
///
/// # Errors
///
/// If the worker does not start, or reports that it cannot continue.
pub fn run_batch(
    command: &WorkerCommand,
    variant: &TrustedVariant,
    tasks: &[&Task],
    limit: Duration,
) -> Result<Vec<Observation>, WorkerError> {
    let failed = |reason: String| WorkerError::Worker { variant: (**variant).clone(), reason };
    let mut bytes = Vec::new();
    ToWorker::write_hello(&mut bytes, PROTOCOL_VERSION, slice::from_ref(&**variant))
        .and_then(|()| tasks.iter().try_for_each(|task| ToWorker::write_case(&mut bytes, task, &[0])))
        .map_err(|error| failed(error.to_string()))?;
    // a keeper would take the closed pipe for the end of the supervisor and kill the worker
    let command = WorkerCommand { keeps_workers: false, ..command.clone() };
    let watchdog = Watchdog::start();
    let launch = Launch::prepare(&command, variant)?;
    let SpawnedWorker { confined, mut stdin, stdout, stderr, deadline, .. } =
        SpawnedWorker::start(launch, variant, limit, &watchdog)?;
    let answers = thread::scope(|scope| {
        scope.spawn(move || {
            // a worker that does not read shows by its answers
            let _ = stdin.write_all(&bytes);
        });
        answers(&mut BufReader::new(stdout), tasks.len())
    });
    confined.child.ends_within(deadline.left().unwrap_or_default());
    confined.child.end();
    match answers {
        Ok(Answers { observations, has_started: true }) => Ok(observations),
        Ok(_) => Err(failed(stderr.last_line().unwrap_or_else(|| "it ends without a word".to_owned()))),
        Err(loss) => Err(WorkerError::of_loss(variant, &loss)),
    }
}

struct Answers {
    observations: Vec<Observation>,
    has_started: bool,
}

/// What the worker answers to so many cases, until it closes its pipe, garbles it or is late.
fn answers(stdout: &mut BufReader<Pipe<ChildStdout>>, cases: usize) -> Result<Answers, Loss> {
    let mut answers = Answers { observations: Vec::new(), has_started: false };
    while answers.observations.len() < cases
        && let Ok(Some(message)) = read_from_worker(stdout)
    {
        match message {
            FromWorker::Hello { .. } => answers.has_started = true,
            FromWorker::Stage { .. } => {}
            FromWorker::Answer { observation, .. } => answers.observations.push(observation),
            FromWorker::Fault(fault) => return Err(Loss::Fault(fault)),
        }
    }
    Ok(answers)
}
