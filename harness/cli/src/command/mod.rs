mod adopt;
mod backends;
mod bench;
mod check;
mod completions;
mod diff;
mod explain;
mod fuzz;
mod generate;
mod man;
mod merge;
mod minimize;
mod replay;
mod report;
mod repro;
mod site;
mod worker;

use clap::Subcommand;

use crate::{Exit, Failure, interruption};

/// The commands of `twinfer`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare backends on generated graphs
    Fuzz(fuzz::Arguments),
    /// Compare backends on an ONNX model or on stored cases
    Check(check::Arguments),
    /// Run a finding again and compare with what was recorded
    Replay(replay::Arguments),
    /// Reduce a diverging case to a minimal one
    Minimize(minimize::Arguments),
    /// Find out by experiments when a finding shows, and which explanations hold
    Explain(explain::Arguments),
    /// Keep a finding as a regression test
    Adopt(adopt::Arguments),
    /// Write a standalone reproduction of a finding for an upstream issue
    Repro(repro::Arguments),
    /// Write generated cases to disk as ONNX models with inputs
    Generate(generate::Arguments),
    /// Report on a stored run, in any format
    Report(report::Arguments),
    /// Merge the shards of a campaign into one run
    Merge(merge::Arguments),
    /// List findings that are new, gone or changed between two runs
    Diff(diff::Arguments),
    /// Write a site about several runs: what each found, what became of every bug, and what each version supports
    Site(site::Arguments),
    /// Measure campaign throughput against the backends alone
    Bench(bench::Arguments),
    /// Install, list and check the libraries that backends load
    #[command(subcommand)]
    Backends(backends::Command),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Write manual pages of all commands
    Man(man::Arguments),
    /// Run the cases of a benchmark in one process; only `bench` starts this command
    #[command(hide = true)]
    BenchLoop(bench::LoopArguments),
    /// Measure the parts of a case in one process; only `bench` starts this command
    #[command(hide = true)]
    BenchParts(bench::PartsArguments),
    /// Serve backends to a supervisor over standard input and output
    #[command(hide = true)]
    Worker,
}

impl Command {
    pub fn run(self) -> Result<Exit, Failure> {
        if !self.handles_signals() {
            interruption::end_command();
        }
        match self {
            Self::Fuzz(arguments) => fuzz::run(&arguments),
            Self::Check(arguments) => check::run(&arguments),
            Self::Replay(arguments) => replay::run(&arguments),
            Self::Minimize(arguments) => minimize::run(&arguments),
            Self::Explain(arguments) => explain::run(&arguments),
            Self::Adopt(arguments) => adopt::run(&arguments),
            Self::Repro(arguments) => repro::run(&arguments),
            Self::Generate(arguments) => generate::run(&arguments),
            Self::Report(arguments) => report::run(&arguments),
            Self::Merge(arguments) => merge::run(&arguments),
            Self::Diff(arguments) => diff::run(&arguments),
            Self::Site(arguments) => site::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments),
            Self::BenchLoop(arguments) => bench::run_loop(arguments),
            Self::BenchParts(arguments) => bench::measure_parts(arguments),
            Self::Backends(command) => command.run(),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Man(arguments) => man::run(&arguments),
            Self::Worker => Ok(worker::run()),
        }
    }

    /// Whether the command decides what Ctrl-C does, or leaves that to the process that started it.
    const fn handles_signals(&self) -> bool {
        matches!(
            self,
            Self::Fuzz(_) | Self::Check(_) | Self::BenchLoop(_) | Self::BenchParts(_) | Self::Worker
        )
    }
}
