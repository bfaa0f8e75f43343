use std::{fmt, num::NonZeroUsize, path::PathBuf, thread::available_parallelism};

use clap::{Args, ValueEnum};
use twinfer_bench::{BenchError, Fault, Host, LoopSettings, PartsSettings, Settings};
use twinfer_case::{Shard, TrustedVariant, Variant};
use twinfer_configuration::{Jobs, Variants, seconds};
use twinfer_generators::Family;
use twinfer_workers::WorkerCommand;

use crate::{
    Exit, Failure,
    output::{line, note, print},
    paint,
    whole_number::whole_number,
    worker::worker_for,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Backends to measure: each in processes of its own, all together in one loop, and in a campaign [default: ONNX Runtime's
    /// CPU provider, on the threads of one process and in a campaign]
    #[arg(long, value_name = "A,B")]
    backends: Option<Variants>,
    /// Measurements to take of --backends
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Part::Bare, Part::Naive, Part::Campaign], requires = "backends")]
    only: Vec<Part>,
    /// Numbers of processes to run of each backend, one after the other [default: 1 and --jobs]
    #[arg(long, value_delimiter = ',', value_name = "N,M", requires = "backends")]
    processes: Vec<Jobs>,
    /// Maximum number of cases per measurement; a campaign ignores it if --time is given
    #[arg(long, default_value_t = 20_000, value_parser = whole_number::<u64>)]
    cases: u64,
    /// Maximum time per measurement, not counting start-up: 20s, 8m
    #[arg(long, value_parser = seconds)]
    time: Option<u64>,
    /// Generator families, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [Family::Conv, Family::Deconv])]
    family: Vec<Family>,
    /// Seed of the generators
    #[arg(long, default_value_t = 0, value_parser = whole_number::<u64>)]
    seed: u64,
    /// Worker processes of each backend, and threads of the bare loop [default: one per core]
    #[arg(long)]
    jobs: Option<Jobs>,
    /// Keep the campaign's findings as generated, without minimizing them
    #[arg(long)]
    no_minimize: bool,
    /// File to write the measurements to, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A benchmark of several backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Each backend alone; TensorRT with memory=off and with memory=keep, unless the variant sets it
    Bare,
    /// All backends, golden and the checks in turn in one process, at default levels, with memory=off and without the other
    /// means that make workers fast
    Naive,
    /// A campaign
    Campaign,
}

/// A loop that `bench` starts in a process of its own.
#[derive(Debug, Args)]
pub struct LoopArguments {
    #[arg(long)]
    backends: Variants,
    #[arg(long, value_delimiter = ',')]
    family: Vec<Family>,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    shard: Shard,
    #[arg(long)]
    cases: u64,
    #[arg(long, value_parser = seconds)]
    time: Option<u64>,
    /// Generate in the loop, evaluate golden and compare
    #[arg(long)]
    judged: bool,
}

/// The measurement of a case's steps that `bench` starts in a process of its own.
#[derive(Debug, Args)]
pub struct PartsArguments {
    #[arg(long)]
    variant: Variant,
    #[arg(long, value_delimiter = ',')]
    family: Vec<Family>,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    cases: usize,
}

/// This executable, which starts itself.
struct Executable;

impl Host for Executable {
    fn worker(&self, variants: &[Variant]) -> Result<WorkerCommand, BenchError> {
        // all variants of `bench` come from its command line
        let variants: Vec<_> = variants.iter().cloned().map(TrustedVariant::vouch).collect();
        worker_for(&variants).map_err(|Failure { message, exit }| {
            BenchError::Fault(match exit {
                Exit::Usage => Fault::Usage(message),
                _ => Fault::Environment(message),
            })
        })
    }

    fn print(&self, line: fmt::Arguments<'_>) {
        line!("{line}");
    }

    fn print_heading(&self, title: fmt::Arguments<'_>) {
        print(&paint::heading(title));
    }

    fn print_detail(&self, line: fmt::Arguments<'_>) {
        print(&paint::faint(line));
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let report = twinfer_bench::run(&arguments.settings(), &Executable)?;
    if let Some(path) = &arguments.json {
        report.write(path)?;
    }
    let loop_compared_none = report.naive.is_some_and(|rate| rate <= 0.0);
    let mut uncompared = report.campaign.map(|campaign| campaign.uncompared).unwrap_or_default();
    uncompared.extend(loop_compared_none.then(|| "no case in the loop".to_owned()));
    for cause in &uncompared {
        note!("nothing was compared: {cause}");
    }
    Ok(Exit::of([(!uncompared.is_empty()).then_some(Exit::NothingCompared)]))
}

pub fn run_loop(arguments: LoopArguments) -> Result<Exit, Failure> {
    let LoopArguments { backends, family, seed, shard, cases, time, judged } = arguments;
    let variants = backends.subjects();
    let greeting = twinfer_bench::run_loop(&LoopSettings {
        variants,
        families: family,
        seed,
        shard,
        cases,
        time,
        judged,
    })?;
    // the process that started the loop reports why it did not begin
    Ok(greeting.map_or_else(|fault| Failure::from(fault).exit, |()| Exit::Conforms))
}

pub fn measure_parts(arguments: PartsArguments) -> Result<Exit, Failure> {
    let PartsArguments { variant, family, seed, cases } = arguments;
    let settings = PartsSettings { variant, families: family, seed, cases };
    twinfer_bench::measure_parts(&settings, &Executable)?;
    Ok(Exit::Conforms)
}

impl Arguments {
    fn settings(&self) -> Settings {
        let jobs = self.jobs.map(Jobs::number).or_else(|| available_parallelism().ok());
        Settings {
            backends: self.backends.as_ref().map(Variants::subjects),
            only: self.only.iter().copied().map(Part::into).collect(),
            processes: self.processes.iter().map(|processes| processes.number()).collect(),
            cases: self.cases,
            time: self.time,
            families: self.family.clone(),
            seed: self.seed,
            jobs: jobs.unwrap_or(NonZeroUsize::MIN),
            minimize: !self.no_minimize,
        }
    }
}

impl From<Part> for twinfer_bench::Part {
    fn from(part: Part) -> Self {
        match part {
            Part::Bare => Self::Bare,
            Part::Naive => Self::Naive,
            Part::Campaign => Self::Campaign,
        }
    }
}
