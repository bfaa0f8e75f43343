//! Golden against ONNX Runtime's CPU provider, and that provider alone in this process.

use std::num::NonZeroUsize;

use twinfer_case::{Case, Task, Variant};

use super::{Arguments, bare, end_to_end::Measured, stream::Stream};
use crate::{Failure, output::line, paint, worker::worker_for};

/// Measures and prints both.
pub fn run(arguments: &Arguments, jobs: NonZeroUsize) -> Result<(), Failure> {
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
    let measured = Measured::of(arguments, vec![variant], worker, jobs)?;
    let bare = before.and(&runtime.measure(second, jobs.get()));
    print(&bare, &measured, &cases, jobs);
    Ok(())
}

fn print(bare: &bare::Bare, measured: &Measured, cases: &[Case], jobs: NonZeroUsize) {
    let rate = measured.rate();
    let bare_rate = bare.executed as f64 / bare.seconds;
    line!("{}", paint::heading(format!("{} cases, {jobs} jobs", measured.summary.cases)));
    line!("  end to end, executed and compared   {rate:>8.0} a second");
    line!("  ONNX Runtime alone, session and run {bare_rate:>8.0} a second ({} refused)", bare.refused);
    line!("  ratio                               {:>8.2}", rate / bare_rate);
    line!("  multiply-accumulates, median        {:>8}", measured.median_macs());
    line!("{}", paint::heading("where the time goes, microseconds a case"));
    for (name, micros) in measured.shares.of(&measured.summary, cases, jobs.get()) {
        line!("  {name:<35} {micros:>8.0}");
    }
}
