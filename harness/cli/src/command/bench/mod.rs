mod bare;
mod shares;

use std::{num::NonZeroUsize, thread::available_parallelism};

use clap::Args;
use twinfer_campaign::{Campaign, Options, WorkerCommand};
use twinfer_case::{Budget, Case, Event, Summary, Task, Variant};
use twinfer_generators::Family;

use self::shares::Shares;
use crate::{Exit, Failure, output::line, paint, worker::worker_for};

#[derive(Debug, Args)]
pub struct Arguments {
    /// How many cases
    #[arg(long, default_value_t = 20_000)]
    cases: u64,
    /// Which generators, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [Family::Conv, Family::Deconv])]
    family: Vec<Family>,
    /// Decides every case
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Worker processes, and threads of the bare loop [default: one a core]
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
}

/// A campaign of golden against ONNX Runtime's CPU provider, and what its records say.
struct Measured {
    summary: Summary,
    shares: Shares,
    macs: Vec<u64>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let variant: Variant = "ort:cpu".parse().map_err(Failure::usage)?;
    let jobs = arguments.jobs.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let cases = generate(arguments);
    let tasks: Vec<Task> =
        cases.iter().map(Task::of).collect::<Result<_, _>>().map_err(Failure::environment)?;
    let worker = worker_for(std::slice::from_ref(&variant), None)?;
    // half before and half after, so that a machine that gets busier or idler favours neither
    let (first, second) = tasks.split_at(tasks.len() / 2);
    let runtime = bare::Runtime::load()?;
    let before = runtime.measure(first, jobs.get());
    let measured = end_to_end(arguments, variant, worker, jobs)?;
    let bare = before.and(&runtime.measure(second, jobs.get()));
    print(&bare, measured, &cases, jobs);
    Ok(Exit::Conforms)
}

/// The cases that a campaign of these families draws, in its order.
fn generate(arguments: &Arguments) -> Vec<Case> {
    let streams: Vec<_> = arguments.family.iter().map(|family| family.stream(arguments.seed)).collect();
    let turns = (0..arguments.cases).zip((0..streams.len()).cycle());
    turns.map(|(index, turn)| streams[turn].case(index)).collect()
}

fn end_to_end(
    arguments: &Arguments,
    variant: Variant,
    worker: WorkerCommand,
    jobs: NonZeroUsize,
) -> Result<Measured, Failure> {
    let out = tempfile::tempdir().map_err(Failure::environment)?;
    let options = Options {
        families: arguments.family.iter().map(Family::to_string).collect(),
        seed: arguments.seed,
        budget: Budget::Cases(arguments.cases),
        jobs,
        ..Options::new(vec![variant], worker, out.path().to_owned())
    };
    let mut macs = Vec::new();
    let mut shares = Shares::default();
    let summary = Campaign::new(options)?.run(&mut |event| {
        if let Event::CaseFinished { record } = event {
            macs.push(record.macs);
            shares.add(record);
        }
    })?;
    Ok(Measured { summary, shares, macs })
}

fn print(bare: &bare::Bare, mut measured: Measured, cases: &[Case], jobs: NonZeroUsize) {
    let rate = measured.summary.compared as f64 / measured.summary.seconds;
    let bare_rate = bare.executed as f64 / bare.seconds;
    line!("{}", paint::heading(format!("{} cases, {jobs} jobs", measured.summary.cases)));
    line!("  end to end, executed and compared   {rate:>8.0} a second");
    line!("  ONNX Runtime alone, session and run {bare_rate:>8.0} a second ({} refused)", bare.refused);
    line!("  ratio                               {:>8.2}", rate / bare_rate);
    line!("  multiply-accumulates, median        {:>8}", median(&mut measured.macs));
    line!("{}", paint::heading("where the time goes, microseconds a case"));
    for (name, micros) in measured.shares.of(&measured.summary, cases, jobs.get()) {
        line!("  {name:<35} {micros:>8.0}");
    }
}

fn median(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
