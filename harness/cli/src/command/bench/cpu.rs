//! Golden against ONNX Runtime's CPU provider, and that provider alone in this process.

use std::num::NonZeroUsize;

use twinfer_case::{Case, Task, Variant};

use super::{
    Arguments, bare,
    costs::{self, costs},
    end_to_end::Measured,
    parts::Parts,
    report::{Alone, Report},
    stream::Stream,
};
use crate::{Failure, output::line, paint, worker::worker_for};

/// Measures and prints both.
pub fn run(arguments: &Arguments, jobs: NonZeroUsize) -> Result<Report, Failure> {
    let variant: Variant = "ort:cpu".parse().map_err(Failure::usage)?;
    let cases: Vec<Case> =
        Stream::new(&arguments.family, arguments.seed).cases(0, 1).take(arguments.cases as usize).collect();
    let tasks: Vec<Task> =
        cases.iter().map(Task::of).collect::<Result<_, _>>().map_err(Failure::environment)?;
    let worker = worker_for(std::slice::from_ref(&variant))?;
    // half before and half after, so that a machine that gets busier or idler favours neither
    let (first, second) = tasks.split_at(tasks.len() / 2);
    let runtime = bare::Runtime::load()?;
    let before = runtime.measure(first, jobs.get());
    let measured = Measured::of(arguments, vec![variant.clone()], worker, jobs)?;
    let bare = before.and(&runtime.measure(second, jobs.get()));
    print(&bare, &measured, jobs);
    let parts = Parts::of(&variant, arguments)?;
    let costs = costs(&measured, &[(variant, parts)], jobs.get());
    costs::print(&costs);
    let alone = Alone {
        backend: "ONNX Runtime".to_owned(),
        parallel: jobs.get(),
        rate: bare.rate(),
        processor: bare.micros(),
    };
    Ok(Report {
        jobs: jobs.get(),
        alone: vec![alone],
        naive: None,
        campaign: Some(measured.campaign()),
        costs,
    })
}

fn print(bare: &bare::Bare, measured: &Measured, jobs: NonZeroUsize) {
    let (rate, spent) = (measured.rate(), measured.micros_compared());
    line!("{}", paint::heading(format!("{} cases, {jobs} jobs", measured.summary.cases)));
    line!("  end to end, executed and compared   {rate:>8.0} a second, {spent:.0} µs of processor time each");
    line!(
        "  ONNX Runtime alone, session and run {:>8.0} a second, {:.0} µs of processor time each ({} refused)",
        bare.rate(),
        bare.micros(),
        bare.refused
    );
    line!(
        "  ratio                               {:>8.2}, of processor time {:.2}",
        rate / bare.rate(),
        bare.micros() / spent
    );
    line!("  multiply-accumulates, median        {:>8}", measured.median_macs());
}
