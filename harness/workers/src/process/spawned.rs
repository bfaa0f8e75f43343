use std::{
    io::{self, ErrorKind},
    os::unix::process::CommandExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::pipe::fcntl_setpipe_size;
use twinfer_case::Variant;

use super::{
    confined::ConfinedChild,
    deadline::Deadline,
    launch::Launch,
    pipe::{PIPE_BYTES, Pipe},
    stderr::StderrTail,
    watchdog::Watchdog,
};
use crate::error::WorkerError;

/// The size of a pipe that cannot be resized.
const DEFAULT_PIPE_BYTES: usize = 4096;

/// A worker that has been spawned, is watched, and has not said anything yet.
pub struct SpawnedWorker {
    pub confined: Arc<ConfinedChild>,
    /// When it was about to be spawned.
    pub begun: Instant,
    /// How long spawning took.
    pub spawning: Duration,
    /// The process id of the worker or of its keeper.
    pub pid: u32,
    pub stdin: Pipe<ChildStdin>,
    pub stdout: Pipe<ChildStdout>,
    pub stderr: StderrTail,
    /// Of the next read or write.
    pub deadline: Arc<Deadline>,
    /// Bytes that can wait in the pipe to the worker.
    pub pipe_capacity: usize,
}

impl SpawnedWorker {
    /// Spawns a worker of `variant` in a process group of its own; its first reads and writes have to end within `limit`.
    pub fn start(
        mut launch: Launch,
        variant: &Variant,
        limit: Duration,
        watchdog: &Watchdog,
    ) -> Result<Self, WorkerError> {
        let begun = Instant::now();
        let program = launch.command.get_program().to_string_lossy().into_owned();
        let failed = |what: &str, error: &io::Error| WorkerError::Worker {
            variant: variant.clone(),
            reason: format!("cannot {what} {program:?}: {error}"),
        };
        let spawned = launch.command.process_group(0).spawn();
        let mut child = spawned.map_err(|error| failed("start", &error))?;
        let pipes = take_pipes(&mut child);
        let pid = child.id();
        let confined = Arc::new(ConfinedChild::new(child, launch));
        watchdog.watch(&confined);
        let deadline = Arc::new(Deadline::after(limit));
        let connected = pipes.and_then(|(stdin, stdout, stderr)| {
            let pipe_capacity = fcntl_setpipe_size(&stdin, PIPE_BYTES).unwrap_or(DEFAULT_PIPE_BYTES);
            let _ = fcntl_setpipe_size(&stdout, PIPE_BYTES);
            let (stdin, stdout) = (Pipe::new(stdin, &deadline)?, Pipe::new(stdout, &deadline)?);
            Ok((stdin, stdout, StderrTail::follow(stderr)?, pipe_capacity))
        });
        let (stdin, stdout, stderr, pipe_capacity) = connected.map_err(|error| {
            confined.child.end();
            failed("connect to", &error)
        })?;
        let spawning = begun.elapsed();
        Ok(Self { confined, begun, spawning, pid, stdin, stdout, stderr, deadline, pipe_capacity })
    }
}

/// The three pipes to a child that was started with them.
fn take_pipes(child: &mut Child) -> io::Result<(ChildStdin, ChildStdout, ChildStderr)> {
    let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
    let pipes = pipes.map(|((stdin, stdout), stderr)| (stdin, stdout, stderr));
    pipes.ok_or_else(|| ErrorKind::BrokenPipe.into())
}
