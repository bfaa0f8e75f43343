use std::{
    io::{BufRead, BufReader, Lines, Write},
    num::NonZeroUsize,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde::de::DeserializeOwned;
use twinfer_case::Variant;
use twinfer_driver_cache::{CACHE_MODE_VARIABLE, CacheMode};
use twinfer_generators::Family;
use twinfer_workers::ALLOCATOR;

use super::{
    Arguments,
    solo::{Greeting, Loop},
};
use crate::{Failure, worker::worker_for};

/// Loops side by side, which begin together.
#[derive(Clone, Copy)]
pub struct Fleet<'a> {
    /// What each of them opens.
    pub variants: &'a [Variant],
    /// How many there are; they share the cases.
    pub processes: NonZeroUsize,
    /// How libraries use the driver cache.
    pub cache: CacheMode,
    /// Whether they compare with golden too.
    pub judged: bool,
}

impl Fleet<'_> {
    /// Starts the loops, lets them run and gathers what they came to.
    pub fn run(self, arguments: &Arguments) -> Result<Vec<Loop>, Failure> {
        let mut loops: Vec<Running> =
            (0..self.processes.get()).map(|index| self.start(arguments, index)).collect::<Result<_, _>>()?;
        loops.iter_mut().try_for_each(Running::wait_until_ready)?;
        loops.iter_mut().try_for_each(Running::begin)?;
        loops.iter_mut().map(Running::finish).collect()
    }

    fn start(self, arguments: &Arguments, index: usize) -> Result<Running, Failure> {
        let mut worker = worker_for(self.variants)?;
        // nothing of what a campaign does for speed is done for the loop that it is compared with
        worker.env.retain(|(key, _)| !self.judged || key != ALLOCATOR.0);
        let mut command = Command::new(&worker.program);
        command.envs(worker.env).env(CACHE_MODE_VARIABLE, self.cache.to_string());
        command.args(["bench-loop", "--backends", &joined(self.variants)]);
        command.args(["--family", &joined::<Family>(&arguments.family)]);
        command.args(["--seed", &arguments.seed.to_string(), "--cases", &arguments.cases.to_string()]);
        command.args(["--shard", &format!("{index}/{}", self.processes)]);
        command.args(arguments.time.map(|seconds| format!("--time={seconds}s")));
        command.args(self.judged.then_some("--judged"));
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Running::of(child.map_err(Failure::environment)?)
    }
}

fn joined<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// A loop's process; it ends when its standard input does.
struct Running {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn of(mut child: Child) -> Result<Self, Failure> {
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self { child, input, lines: BufReader::new(output).lines() }),
            _ => Err(Failure::environment("the loop's process has no pipes")),
        }
    }

    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        self.hear::<Greeting>()?
    }

    fn begin(&mut self) -> Result<(), Failure> {
        writeln!(self.input, "begin").map_err(Failure::environment)
    }

    fn finish(&mut self) -> Result<Loop, Failure> {
        self.hear()
    }

    fn hear<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        match self.lines.next() {
            Some(line) => {
                serde_json::from_str(&line.map_err(Failure::environment)?).map_err(Failure::environment)
            }
            None => Err(Failure::environment(match self.child.wait() {
                Ok(status) => format!("a loop's process ended early: {status}"),
                Err(error) => error.to_string(),
            })),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // a loop that has answered ends by itself; one that is still at work is not needed any more
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
