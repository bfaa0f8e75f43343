use std::{
    io::{BufRead, BufReader, Lines, Write},
    num::NonZeroUsize,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde::de::DeserializeOwned;
use twinfer_case::Variant;
use twinfer_generators::Family;
use twinfer_workers::ALLOCATOR;

use crate::{BenchError, Fault, Greeting, Host, Settings, solo::Loop};

/// Concurrent loops, each in a process of its own, that start together.
#[derive(Clone, Copy)]
pub struct Fleet<'a> {
    /// The variants that each loop opens.
    pub variants: &'a [Variant],
    /// The number of loops, which share the cases.
    pub processes: NonZeroUsize,
    /// Whether the loops also compare with golden.
    pub judged: bool,
}

impl Fleet<'_> {
    /// Runs the loops concurrently; returns the result of each.
    pub fn run(self, settings: &Settings, host: &dyn Host) -> Result<Vec<Loop>, BenchError> {
        let mut loops: Vec<Running> = (0..self.processes.get())
            .map(|index| self.start(settings, host, index))
            .collect::<Result<_, _>>()?;
        loops.iter_mut().try_for_each(Running::wait_until_ready)?;
        loops.iter_mut().try_for_each(Running::begin)?;
        loops.iter_mut().map(Running::finish).collect()
    }

    fn start(self, settings: &Settings, host: &dyn Host, index: usize) -> Result<Running, BenchError> {
        let mut worker = host.worker(self.variants)?;
        // the loop that a campaign is compared with runs without the campaign's allocator
        worker.env.retain(|(key, _)| !self.judged || key != ALLOCATOR.0);
        let mut command = Command::new(&worker.program);
        command.envs(worker.env);
        command.args(["bench-loop", "--backends", &joined(self.variants)]);
        command.args(["--family", &joined::<Family>(&settings.families)]);
        command.args(["--seed", &settings.seed.to_string(), "--cases", &settings.cases.to_string()]);
        command.args(["--shard", &format!("{index}/{}", self.processes)]);
        command.args(settings.time.map(|seconds| format!("--time={seconds}s")));
        command.args(self.judged.then_some("--judged"));
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Running::of(child.map_err(Fault::environment)?)
    }
}

fn joined<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// The process of a loop, which exits when its standard input is closed.
struct Running {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn of(mut child: Child) -> Result<Self, BenchError> {
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self { child, input, lines: BufReader::new(output).lines() }),
            _ => Err(Fault::environment("the loop's process has no pipes").into()),
        }
    }

    fn wait_until_ready(&mut self) -> Result<(), BenchError> {
        Ok(self.receive::<Greeting>()??)
    }

    fn begin(&mut self) -> Result<(), BenchError> {
        Ok(writeln!(self.input, "begin").map_err(Fault::environment)?)
    }

    fn finish(&mut self) -> Result<Loop, BenchError> {
        self.receive()
    }

    fn receive<T: DeserializeOwned>(&mut self) -> Result<T, BenchError> {
        match self.lines.next() {
            Some(line) => {
                Ok(serde_json::from_str(&line.map_err(Fault::environment)?).map_err(Fault::environment)?)
            }
            None => Err(Fault::environment(match self.child.wait() {
                Ok(status) => format!("the process of a loop ended early: {status}"),
                Err(error) => error.to_string(),
            })
            .into()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // a loop that has reported exits by itself; the result of one that is still running is no longer needed
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
