use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

use clap::Args;
use twinfer_campaign::{Options, Scaling};
use twinfer_case::{Budget, Ladder, Summary};
use twinfer_configuration::{Configuration, Jobs, Shard, Variants, seconds};
use twinfer_driver_cache::{CACHE_MODE_VARIABLE, CacheMode};
use twinfer_generators::Family;
use twinfer_reports::Format;
use twinfer_store::{known_findings, run_directory};
use twinfer_worker::SABOTAGE_VARIABLE;

use crate::{
    Exit, Failure,
    campaign::watched,
    formats::formats,
    issues::{Trials, settle},
    output::write,
    resumption::Resumption,
    worker::worker_for,
};

/// Where known findings are when nobody says otherwise.
const KNOWN: &str = "golden/cases";

#[derive(Debug, Args)]
pub struct Arguments {
    /// What to compare, separated by commas; options follow their backend: ort:cpu,opt=off,trt-rtx [default:
    /// golden,ort:cpu,trt-rtx]
    #[arg(long, value_name = "A,B")]
    backends: Option<Variants>,
    /// Which generators, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    family: Vec<Family>,
    /// Stop after this many cases
    #[arg(long, conflicts_with = "time", value_name = "N")]
    cases: Option<u64>,
    /// Stop after this long: 90s, 30m, 8h [default: 60s]
    #[arg(long, value_parser = seconds)]
    time: Option<u64>,
    /// Decides every case [default: 0]
    #[arg(long)]
    seed: Option<u64>,
    /// Worker processes a backend [default: as many as find cases and memory, at most one a core]
    #[arg(long)]
    jobs: Option<Jobs>,
    /// Build suspects, and a sample of all cases, again with stronger options, as each backend states them: for this part of
    /// the backends' time (10%), or one case in so many (1/50)
    #[arg(long, value_name = "10%|1/N")]
    ladder: Option<Ladder>,
    /// The GPUs to use, separated by commas; each worker uses one of them
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
    /// Findings that are known already, as a folder of them or of a run; may be given more than once [default: golden/cases, if
    /// it is there]
    #[arg(long, value_name = "DIR")]
    known: Vec<PathBuf>,
    /// What to do where these options do not say, and the issues that are known [default: twinfer.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Keep findings as they were generated
    #[arg(long)]
    no_minimize: bool,
    /// What workers spare the CUDA driver: on (device attributes are answered from memory, what is freed is kept, events
    /// raise no interrupts), attributes (only these), off (nothing), verify (as on, but the driver is asked for attributes too, and
    /// a difference ends the campaign)
    #[arg(long, default_value_t, env = CACHE_MODE_VARIABLE, hide_env_values = true, value_name = "MODE")]
    driver_cache: CacheMode,
    /// Have workers commit a fault each, as this number decides: for tests of the supervisor
    #[arg(long, hide = true, value_name = "SEED")]
    inject: Option<u64>,
    /// How the result is written
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let configuration = Configuration::read(arguments.config.as_deref())?;
    let options = options(arguments, &configuration)?;
    let (out, stored, worker) = (options.out.clone(), options.known.clone(), options.worker.clone());
    let (stop, resumption) = (Arc::clone(&options.stop), Resumption::of_process(&out));
    let mut report = watched(options, &resumption).inspect_err(|_| {
        // a folder made for a run that did not begin; one that holds anything stays
        let _ = arguments.out.is_none().then(|| fs::remove_dir(&out));
    })?;
    let trials = Trials { stored: &stored, worker: &worker };
    settle(&mut report, &configuration.known, Some(trials))?;
    write(format_args!("{}", arguments.format.render(&report)));
    eprintln!("\nthe run is in {}", out.display());
    let Summary { new_findings, open, .. } = report.summary;
    if stop.load(Ordering::Relaxed) {
        eprintln!("it ended early; to go on: {resumption}");
    } else if open > 0 {
        eprintln!("to investigate what there was no time for, and go on: {resumption}");
    }
    Ok(match (new_findings, open) {
        _ if !report.given_up.is_empty() => Exit::Environment,
        (0, 0) => Exit::Conforms,
        _ => Exit::Findings,
    })
}

/// What the command line says; where it does not, the configuration; where neither does, the defaults.
fn options(arguments: &Arguments, configuration: &Configuration) -> Result<Options, Failure> {
    let variants = match arguments.backends.as_ref().or(configuration.backends.as_ref()) {
        Some(variants) => variants.subjects(),
        None => Variants::default().subjects(),
    };
    let devices = arguments.devices.as_deref().or(configuration.devices.as_deref());
    let mut worker = worker_for(&variants)?;
    worker.env.extend(arguments.inject.map(|seed| (SABOTAGE_VARIABLE.to_owned(), seed.to_string())));
    worker.env.push((CACHE_MODE_VARIABLE.to_owned(), arguments.driver_cache.to_string()));
    let known = known(&arguments.known)?;
    let out = run_directory(arguments.out.as_deref(), arguments.resume)?;
    let defaults = Options::new(variants, worker, out);
    let jobs = arguments.jobs.or(configuration.jobs);
    Ok(Options {
        families: families(arguments, configuration).iter().map(Family::to_string).collect(),
        seed: arguments.seed.or(configuration.seed).unwrap_or(0),
        budget: budget(arguments).or(configuration.budget).unwrap_or(Budget::Seconds(60)),
        shard: arguments.shard.into(),
        jobs: jobs.map_or(defaults.jobs, Jobs::number),
        scaling: if jobs.is_some() { Scaling::Fixed } else { Scaling::AsNeeded },
        devices: devices.into_iter().flat_map(|devices| devices.split(',')).map(str::to_owned).collect(),
        device_workers: twinfer_backend::processes_a_device(),
        ladder: arguments.ladder.or(configuration.ladder),
        known,
        minimize: !arguments.no_minimize,
        resume: arguments.resume,
        ..defaults
    })
}

/// Where known findings are: the folders that are given, which must be there, or the default one, which may be.
fn known(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if given.is_empty() {
        let default = PathBuf::from(KNOWN);
        return Ok(default.is_dir().then_some(default).into_iter().collect());
    }
    given.iter().map(|folder| findings_in(folder)).collect()
}

/// The findings of a run, where the folder is that of one.
fn findings_in(folder: &Path) -> Result<PathBuf, Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage(format!(
            "--known {}: there is no such folder: name one that holds findings, or leave it out",
            folder.display()
        )));
    }
    Ok(known_findings(folder))
}

fn families<'a>(arguments: &'a Arguments, configuration: &'a Configuration) -> &'a [Family] {
    match (arguments.family.as_slice(), configuration.families.as_slice()) {
        ([], []) => &Family::ALL,
        ([], configured) => configured,
        (given, _) => given,
    }
}

fn budget(arguments: &Arguments) -> Option<Budget> {
    arguments.cases.map(Budget::Cases).or(arguments.time.map(Budget::Seconds))
}
