mod adopt;
mod backends;
mod bench;
mod check;
mod diff;
mod fuzz;
mod generate;
mod merge;
mod minimize;
mod replay;
mod report;
mod repro;
mod worker;

use clap::Subcommand;

use crate::{Exit, Failure};

/// What `twinfer` can be asked to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare backends on generated graphs
    Fuzz(fuzz::Arguments),
    /// Compare backends on a model of yours, or on stored cases
    Check(check::Arguments),
    /// See whether a finding still shows what was recorded
    Replay(replay::Arguments),
    /// Make a case that diverges as small as it gets
    Minimize(minimize::Arguments),
    /// Keep a finding as a test
    Adopt(adopt::Arguments),
    /// Write a folder that shows a bug without twinfer, for an upstream issue
    Repro(repro::Arguments),
    /// Write generated cases to disk, as ONNX models with their inputs
    Generate(generate::Arguments),
    /// Report a finished run again, in any format
    Report(report::Arguments),
    /// Join the shards of a campaign into one run
    Merge(merge::Arguments),
    /// See what is new, gone or changed from one run to another
    Diff(diff::Arguments),
    /// Measure the rate of cases against that of the backends alone
    Bench(bench::Arguments),
    /// Install, list and examine the libraries that backends run on
    #[command(subcommand)]
    Backends(backends::Command),
    /// Run the cases of a benchmark in one process; `bench` starts this and nobody else does
    #[command(hide = true)]
    BenchLoop(bench::solo::Arguments),
    /// Measure the parts of a case in one process; `bench` starts this and nobody else does
    #[command(hide = true)]
    BenchParts(bench::parts::Arguments),
    /// Serve backends to a supervisor over stdin and stdout
    #[command(hide = true)]
    Worker,
}

impl Command {
    pub fn run(self) -> Result<Exit, Failure> {
        match self {
            Self::Fuzz(arguments) => fuzz::run(&arguments),
            Self::Check(arguments) => check::run(&arguments),
            Self::Replay(arguments) => replay::run(&arguments),
            Self::Minimize(arguments) => minimize::run(&arguments),
            Self::Adopt(arguments) => adopt::run(&arguments),
            Self::Repro(arguments) => repro::run(&arguments),
            Self::Generate(arguments) => generate::run(&arguments),
            Self::Report(arguments) => report::run(&arguments),
            Self::Merge(arguments) => merge::run(&arguments),
            Self::Diff(arguments) => diff::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments),
            Self::BenchLoop(arguments) => bench::solo::run(&arguments),
            Self::BenchParts(arguments) => bench::parts::run(&arguments),
            Self::Backends(command) => command.run(),
            Self::Worker => Ok(worker::run()),
        }
    }
}
