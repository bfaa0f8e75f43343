//! A campaign of golden and ONNX Runtime's CPU provider, and that provider alone in this process.

use std::num::NonZeroUsize;

use twinfer_case::{Case, Task, Variant};

use crate::{
    Alone, BenchError, Fault, Host, Report, Settings, bare,
    costs::{self, costs},
    end_to_end::Measured,
    host::line,
    parts::Parts,
    stream::Stream,
};

/// Measures both and prints the results.
pub fn run(settings: &Settings, host: &dyn Host) -> Result<Report, BenchError> {
    let jobs = settings.jobs;
    let variant: Variant = "ort:cpu".parse().map_err(Fault::usage)?;
    let cases: Vec<Case> =
        Stream::new(&settings.families, settings.seed).cases(0, 1).take(settings.cases as usize).collect();
    let tasks: Vec<Task> =
        cases.iter().map(Task::of).collect::<Result<_, _>>().map_err(Fault::environment)?;
    let worker = host.worker(std::slice::from_ref(&variant))?;
    // half before and half after, so that a change of the machine's load favors neither
    let (first, second) = tasks.split_at(tasks.len() / 2);
    let runtime = bare::Runtime::load()?;
    let before = runtime.measure(first, jobs.get());
    let measured = Measured::of(settings, vec![variant.clone()], worker)?;
    let bare = before.and(&runtime.measure(second, jobs.get()));
    print(&bare, &measured, jobs, host);
    let parts = Parts::of(&variant, settings, host)?;
    let costs = costs(&measured, &[(variant, parts)], jobs.get());
    costs::print(&costs, host);
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

fn print(bare: &bare::Bare, measured: &Measured, jobs: NonZeroUsize, host: &dyn Host) {
    let (rate, spent) = (measured.rate(), measured.micros_compared());
    host.print_heading(format_args!("{} cases, jobs: {jobs}", measured.summary.cases));
    line!(
        host,
        "  end to end, executed and compared   {rate:>8.0} cases/s, {spent:.0} µs of processor time each"
    );
    line!(
        host,
        "  ONNX Runtime alone, session and run {:>8.0} cases/s, {:.0} µs of processor time each ({} refused)",
        bare.rate(),
        bare.micros(),
        bare.refused
    );
    line!(
        host,
        "  ratio                               {:>8.2}, of processor time {:.2}",
        rate / bare.rate(),
        bare.micros() / spent
    );
    line!(host, "  multiply-accumulates, median        {:>8}", measured.median_macs());
}
