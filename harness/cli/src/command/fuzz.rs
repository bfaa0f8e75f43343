use std::{num::NonZeroUsize, path::PathBuf};

use clap::Args;
use twinfer_campaign::Options;
use twinfer_case::Budget;
use twinfer_generators::Family;
use twinfer_reports::Format;
use twinfer_worker::driver;

use crate::{
    Exit, Failure, campaign::watched, duration, formats::formats, output::write,
    run_directory::fresh_run_directory, shard::Shard, variants::Variants, worker::worker_for,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// What to compare, separated by commas; options follow their backend: ort:cpu,opt=off,trt-rtx
    #[arg(long, default_value = Variants::DEFAULT, value_name = "A,B")]
    backends: Variants,
    /// Which generators, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Family::ALL)]
    family: Vec<Family>,
    /// Stop after this many cases
    #[arg(long, conflicts_with = "time", value_name = "N")]
    cases: Option<u64>,
    /// Stop after this long: 90s, 30m, 8h
    #[arg(long, value_parser = duration::seconds, default_value = "60s")]
    time: u64,
    /// Decides every case
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Worker processes a backend [default: one a core]
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// The GPUs that workers see, separated by commas
    #[arg(long, value_name = "0,1")]
    devices: Option<String>,
    /// Take every n-th case, beginning with the i-th: 0/4, 1/4, …
    #[arg(long, default_value_t, value_name = "i/n")]
    shard: Shard,
    /// Where the run is written [default: the next of runs/0001, runs/0002, …]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the run in --out that ended early; the other options must be the same
    #[arg(long, requires = "out")]
    resume: bool,
    /// Findings that are known already
    #[arg(long, default_value = "golden/cases", value_name = "DIR")]
    known: PathBuf,
    /// Keep findings as they were generated
    #[arg(long)]
    no_minimize: bool,
    /// How workers answer TensorRT's questions for device attributes: on (from memory), off (by the driver), verify (by
    /// the driver, ending where memory differs)
    #[arg(long, default_value_t, env = driver::VARIABLE, hide_env_values = true, value_name = "MODE")]
    driver_cache: driver::Mode,
    /// How the result is written
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let options = options(arguments)?;
    let out = options.out.clone();
    let report = watched(options)?;
    write(format_args!("{}", arguments.format.render(&report)));
    eprintln!("\nthe run is in {}", out.display());
    Ok(if report.summary.new_findings > 0 { Exit::Findings } else { Exit::Conforms })
}

fn options(arguments: &Arguments) -> Result<Options, Failure> {
    let variants = arguments.backends.subjects();
    let mut worker = worker_for(&variants, arguments.devices.as_deref())?;
    worker.env.push((driver::VARIABLE.to_owned(), arguments.driver_cache.to_string()));
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => fresh_run_directory()?,
    };
    let defaults = Options::new(variants, worker, out);
    Ok(Options {
        families: arguments.family.iter().map(Family::to_string).collect(),
        seed: arguments.seed,
        budget: arguments.cases.map_or(Budget::Seconds(arguments.time), Budget::Cases),
        shard: arguments.shard.into(),
        jobs: arguments.jobs.unwrap_or(defaults.jobs),
        known: arguments.known.is_dir().then(|| arguments.known.clone()),
        minimize: !arguments.no_minimize,
        resume: arguments.resume,
        ..defaults
    })
}
