//! Benchmarks: what a campaign reaches, and what the same backends reach with less or nothing around them.

mod bare;
mod costs;
mod cpu;
mod end_to_end;
mod fleet;
mod loops;
pub mod parts;
mod report;
pub mod solo;
mod stream;
mod usage;

use std::{num::NonZeroUsize, path::PathBuf, thread::available_parallelism};

use clap::{Args, ValueEnum};
use twinfer_configuration::{Jobs, Variants, seconds};
use twinfer_driver_cache::CacheMode;
use twinfer_generators::Family;

use crate::{Exit, Failure};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Measure these, each in processes of its own, together in one loop, and in a campaign [default: ONNX Runtime's CPU
    /// provider on the threads of one process, and in a campaign]
    #[arg(long, value_name = "A,B")]
    backends: Option<Variants>,
    /// What to measure of --backends
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Part::Bare, Part::Naive, Part::Campaign], requires = "backends")]
    only: Vec<Part>,
    /// How many processes of one backend, one number after the other [default: 1 and --jobs]
    #[arg(long, value_delimiter = ',', value_name = "N,M", requires = "backends")]
    processes: Vec<Jobs>,
    /// How libraries use the driver cache, one after the other: on, attributes, off, verify [default: off and on for
    /// TensorRT]
    #[arg(long, value_delimiter = ',', value_name = "MODE", requires = "backends")]
    driver_cache: Vec<CacheMode>,
    /// How many cases at most
    #[arg(long, default_value_t = 20_000)]
    cases: u64,
    /// How long each measurement takes at most, start-up apart: 20s, 8m
    #[arg(long, value_parser = seconds)]
    time: Option<u64>,
    /// Which generators, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [Family::Conv, Family::Deconv])]
    family: Vec<Family>,
    /// Decides every case
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Worker processes, and threads of the bare loop [default: one a core]
    #[arg(long)]
    jobs: Option<Jobs>,
    /// Keep the campaign's findings as they were generated
    #[arg(long)]
    no_minimize: bool,
    /// Write what was measured to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A benchmark of several backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Each backend alone, with and without the driver cache
    Bare,
    /// All of them, golden and the checks, one after the other in one process, at default levels, without the cache and
    /// what else makes workers fast
    Naive,
    /// A campaign
    Campaign,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let given = arguments.jobs.map(Jobs::number);
    let jobs = given.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let report = match &arguments.backends {
        None => cpu::run(arguments, jobs)?,
        Some(backends) => loops::run(arguments, &backends.subjects(), jobs)?,
    };
    report.write(arguments.json.as_deref())?;
    Ok(Exit::Conforms)
}
