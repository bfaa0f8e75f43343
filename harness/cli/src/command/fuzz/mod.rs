use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use twinfer_campaign::{Options, Scaling};
use twinfer_case::{Budget, Distribution, Ladder, Percent, RunEnd, RunInfo, Settings, Shard, TrustedVariant};
use twinfer_configuration::{CONFIGURATION_FILE, Configuration, Devices, Jobs, seconds};
use twinfer_generators::Family;
use twinfer_libraries::Hashing;
use twinfer_log::LogLevel;
use twinfer_provision::lacks_device;
use twinfer_reports::{Format, Report, ReportedFinding, first_screen};
use twinfer_store::{RunDirectory, read_run};
#[cfg(feature = "fault-injection")]
use twinfer_worker::FAULT_INJECTION_VARIABLE;
use twinfer_workers::Deadlines;
#[cfg(feature = "fault-injection")]
use twinfer_workers::WorkerCommand;

use crate::{
    Exit, Failure,
    backends::Backends,
    campaign::run_with_progress,
    continuation::ContinuationArguments,
    doubts::doubts,
    formats::formats,
    idle_gpus::note_idle,
    issues::{Trials, resolve},
    known::known_folders,
    limits::LimitArguments,
    machine, mps, option_sample,
    output::{note, write},
    page,
    provision::{provision, verify_in_background},
    resumption::Resumption,
    run_log::RunLog,
    terminal,
    trust::TrustArguments,
    whole_number::whole_number,
    worker::worker_with,
};

/// Which cases run again at the levels that were named, where cases are screened at a lower one.
const RERUN_ONE_IN: NonZeroU64 = NonZeroU64::new(50).unwrap();
const RERUN_SHARE: Percent = Percent::new(10.0).unwrap();

/// The default folder of known findings.
const KNOWN: &str = "golden/cases";

#[derive(Debug, Args)]
pub struct Arguments {
    /// Backends to compare, separated by commas, each followed by its options: ort:cpu,opt=off,trt-rtx [default: what is
    /// installed for the GPU, or golden,ort:cpu,trt-rtx]
    #[arg(long, value_name = "A,B")]
    backends: Option<Backends>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Generator families, separated by commas: conv, deconv, qdq-conv, qdq-deconv, block, invalid [default: all]
    #[arg(long, value_delimiter = ',')]
    family: Vec<Family>,
    /// Which cases the generators draw: baseline, which never changes and on which figures are measured, or full [default: full]
    #[arg(long)]
    distribution: Option<Distribution>,
    /// Stop after N cases
    #[arg(long, conflicts_with = "time", value_name = "N", value_parser = whole_number::<u64>)]
    cases: Option<u64>,
    /// Stop after this time: 90s, 30m, 8h [default: 60s]
    #[arg(long, value_parser = seconds)]
    time: Option<u64>,
    /// Seed of the generators [default: 0]
    #[arg(long, value_parser = whole_number::<u64>)]
    seed: Option<u64>,
    /// Worker processes per backend [default: scales with load and memory, up to one per core]
    #[arg(long)]
    jobs: Option<Jobs>,
    /// Re-run suspicious cases and a sample of the rest at higher optimization levels; limit by share of backend time (10%)
    /// or sample rate (1/50) [default: none; if TensorRT is screened at a lower level than --backends says, 10%, or 1/50 with --cases]
    #[arg(long, value_name = "10%|1/N")]
    ladder: Option<Ladder>,
    /// Also run every case on N derivatives of each TensorRT variant, with options drawn from `twinfer backends options`; a
    /// finding that only these show is reported with the fewest options that reproduce it
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>)]
    sample_options: Option<usize>,
    /// GPUs to use, separated by commas; each worker uses one
    #[arg(long, value_name = "0,1")]
    devices: Option<Devices>,
    #[command(flatten)]
    limits: LimitArguments,
    /// Run every n-th case, starting at case i: 0/4, 1/4, 2/4, 3/4 [default: 0/1]
    #[arg(long, value_name = "i/n")]
    shard: Option<Shard>,
    /// Run directory to write [default: next free runs/NNNN]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    continuation: ContinuationArguments,
    /// Folder of known findings, or a run directory; repeatable [default: golden/cases if present]
    #[arg(long, value_name = "DIR")]
    known: Vec<PathBuf>,
    /// Defaults and known issues [default: ./twinfer.toml if present]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Keep findings as generated, without minimizing them
    #[arg(long)]
    no_minimize: bool,
    /// Run cases that are predicted to hang, too [default: one in 16]
    #[arg(long)]
    run_hangs: bool,
    /// Inject one fault per worker, chosen by this seed; for tests of the supervisor
    #[cfg(feature = "fault-injection")]
    #[arg(long, hide = true, value_name = "SEED")]
    inject: Option<u64>,
    /// Level of debug.log in the run directory: off, error, warn, info, debug, trace (what happens per case)
    #[arg(long, default_value_t = LogLevel::Debug, value_name = "LEVEL")]
    log: LogLevel,
    /// Report format
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
    /// Print every finding with all details instead of one screen
    #[arg(short = 'v', long, visible_alias = "verbose")]
    all: bool,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let configuration = Configuration::read(arguments.config.as_deref())?;
    let resumed = if arguments.resumes() { Some(claim(arguments)?) } else { None };
    let recorded = resumed.as_ref().map(recorded).transpose()?;
    let mut options = options(arguments, &configuration, recorded.as_ref())?;
    let directory = resumed.map_or_else(|| claim(arguments), Ok)?;
    let out = directory.path().to_owned();
    let log = RunLog::start(&out, arguments.log)?;
    log.extend_to(&mut options.worker);
    let (stored, worker, deadlines) = (options.known.clone(), options.worker.clone(), options.deadlines);
    let variants = options.variants.clone();
    let resumption = Resumption::of_process(&out);
    note_idle(&options);
    let service = mps::serve(&mut options);
    let ended = run_with_progress(options, &directory, &resumption);
    drop(service);
    if ended.is_err() {
        log.discard_without_run();
        directory.discard_without_run();
    }
    let mut report = ended?;
    let trials = Trials { stored: &stored, variants: &variants, worker: &worker, deadlines };
    resolve(&mut report, &configuration.known, Some(trials))?;
    if arguments.sample_options.is_some() {
        option_sample::reduce(&mut report, &out, trials)?;
    }
    report.doubts = doubts(&report, trials).unwrap_or_else(|failure| {
        note!("the cases of known findings did not run again: {failure}");
        Vec::new()
    });
    let page = page::write_into(&out, &report);
    write(&match arguments.format {
        Format::Terminal if !arguments.all => {
            first_screen(&report, &out.to_string_lossy(), terminal::columns())
        }
        format => page::render_as(format, None, &out, &report),
    });
    note!("run directory: {}", out.display());
    note!("{page}");
    if report.end.as_ref().is_some_and(RunEnd::is_early) {
        note!("stopped early; resume with: {resumption}");
    } else if report.summary.open > 0 && is_limited_by_time(&report) {
        note!("to investigate the remaining divergences, resume with: {resumption}");
    }
    if report.findings.iter().any(is_to_be_explained) {
        note!("to find out when findings show: twinfer explain {}", out.display());
    }
    Ok(arguments.continuation.exit(&report))
}

/// Whether another start would decide more: with a number of cases, all that can be decided is.
fn is_limited_by_time(report: &Report) -> bool {
    report.run.as_ref().is_some_and(|run| matches!(run.budget, Budget::Seconds(_)))
}

impl Arguments {
    /// Whether a run is to be resumed.
    fn resumes(&self) -> bool {
        self.continuation.resumes(self.out.as_deref())
    }
}

/// Whether experiments on a finding were left for later, since each of their cases takes long.
fn is_to_be_explained(ReportedFinding { finding, .. }: &ReportedFinding) -> bool {
    finding.signature.backend.is_slow() && finding.trigger.is_none()
}

/// The run directory: nothing is written before it is claimed.
fn claim(arguments: &Arguments) -> Result<RunDirectory, Failure> {
    Ok(match &arguments.out {
        Some(out) if arguments.resumes() => RunDirectory::resume(out)?,
        Some(out) => RunDirectory::create(out)?,
        None => RunDirectory::create_next()?,
    })
}

/// The run to resume, which a campaign of generated cases wrote.
fn recorded(directory: &RunDirectory) -> Result<RunInfo, Failure> {
    let run = read_run(directory.path())?;
    if run.families.is_empty() {
        let out = directory.path().display();
        return Err(Failure::usage(format!(
            "{out} holds a run of `twinfer check`, which cannot be resumed: run that command again with another --out"
        )));
    }
    Ok(run)
}

/// The options of the campaign: the command line takes precedence over the `recorded` run or else the configuration, which take
/// precedence over the defaults.
fn options(
    arguments: &Arguments,
    configuration: &Configuration,
    recorded: Option<&RunInfo>,
) -> Result<Options, Failure> {
    let listed = match recorded.filter(|_| arguments.backends.is_none()) {
        Some(run) => recorded_variants(arguments, run)?,
        None => variants(arguments, configuration)?,
    };
    let has_rungs_below = listed.iter().any(|variant| variant.is_above_lowest_level());
    let variants = for_screening(listed);
    let drawn = arguments.sample_options.filter(|_| recorded.is_none()).unwrap_or(0);
    let seed = arguments.seed.or(configuration.seed).unwrap_or(0);
    let variants = option_sample::extend(variants, seed, drawn)?;
    let configuration = &match recorded {
        Some(run) => of_run(run, configuration)?,
        None => configuration.clone(),
    };
    let devices = arguments.devices.as_ref().or(configuration.devices.as_ref());
    let provision = provision(&variants)?;
    let mut worker = worker_with(&provision)?;
    let settings = recorded.and_then(|run| run.settings.as_ref());
    let limits = settings.map_or_else(|| configuration.worker_limits(), |settings| settings.limits);
    worker.limits = arguments.limits.or(limits);
    #[cfg(feature = "fault-injection")]
    let worker = with_injected_faults(worker, arguments.inject);
    let known = known(&arguments.known, settings)?;
    let defaults = Options::new(variants, worker);
    let jobs = arguments.jobs.or(configuration.jobs);
    let budget = budget(arguments).or(configuration.budget).unwrap_or(Budget::Seconds(60));
    let default_ladder = has_rungs_below.then(|| ladder(budget));
    let minimize = !arguments.no_minimize && settings.is_none_or(|settings| settings.minimize);
    Ok(Options {
        families: families(arguments, configuration).iter().map(Family::to_string).collect(),
        distribution: arguments.distribution.or(configuration.distribution).unwrap_or(Distribution::Full),
        seed: arguments.seed.or(configuration.seed).unwrap_or(0),
        budget,
        shard: arguments.shard.or(recorded.map(|run| run.shard)).unwrap_or_default(),
        jobs: jobs.map_or(defaults.jobs, Jobs::number),
        scaling: if jobs.is_some() { Scaling::Fixed } else { Scaling::AsNeeded },
        devices: devices.map_or_else(Vec::new, |devices| devices.0.clone()),
        device_workers: twinfer_backend::processes_a_device()
            .map(|processes| mps::workers_a_device(processes, &defaults.variants)),
        ladder: arguments.ladder.or(configuration.ladder).or(default_ladder),
        libraries: verify_in_background(provision, Hashing::Full),
        known,
        deadlines: deadlines(arguments, configuration, settings),
        experiments: minimize,
        run_hangs: arguments.run_hangs || settings.is_some_and(|settings| settings.run_hangs),
        minimize,
        ..defaults
    })
}

/// How long a worker may stay in each stage.
fn deadlines(arguments: &Arguments, configuration: &Configuration, recorded: Option<&Settings>) -> Deadlines {
    let configured = |stage| configuration.deadline?.of(stage);
    let recorded_or_configured = |stage| match recorded {
        Some(settings) => settings.deadlines.get(&stage).copied().map(Duration::from_millis),
        None => configured(stage),
    };
    arguments.limits.deadlines_or(Deadlines::default().with(recorded_or_configured))
}

/// The configuration in which the settings are those of the run.
fn of_run(run: &RunInfo, configuration: &Configuration) -> Result<Configuration, Failure> {
    Ok(Configuration {
        families: run
            .families
            .iter()
            .map(|name| name.parse())
            .collect::<Result<_, _>>()
            .map_err(Failure::usage)?,
        distribution: Some(run.distribution),
        seed: Some(run.seed),
        budget: Some(run.budget),
        ladder: run.ladder,
        ..configuration.clone()
    })
}

/// The variants of the run, which a file names, that run every case.
fn recorded_variants(arguments: &Arguments, run: &RunInfo) -> Result<Vec<TrustedVariant>, Failure> {
    let bases = run.variants.iter().filter(|info| info.rung_of.is_none());
    let variants: Vec<_> = bases.map(|info| info.variant.clone()).collect();
    arguments.trust.admit_configured(arguments.out.as_deref().unwrap_or(Path::new(".")), &variants)
}

/// The workers inject the faults that `seed` selects, if there is one.
#[cfg(feature = "fault-injection")]
fn with_injected_faults(mut worker: WorkerCommand, seed: Option<u64>) -> WorkerCommand {
    worker.env.extend(seed.map(|seed| (FAULT_INJECTION_VARIABLE.to_owned(), seed.to_string())));
    worker
}

/// The variants of the command line, of the configuration, or else the default ones.
fn variants(arguments: &Arguments, configuration: &Configuration) -> Result<Vec<TrustedVariant>, Failure> {
    let file = arguments.config.as_deref().unwrap_or(Path::new(CONFIGURATION_FILE));
    match (&arguments.backends, &configuration.backends) {
        (Some(given), _) => Ok(given.subjects()),
        (None, Some(configured)) => arguments.trust.admit_configured(file, &configured.subjects()),
        (None, None) => machine::variants(),
    }
}

/// The variants that screen cases, which is printed where they differ from those that were named.
fn for_screening(variants: Vec<TrustedVariant>) -> Vec<TrustedVariant> {
    let screening = |named: TrustedVariant| {
        let screening = named.for_screening();
        if lacks_device(&named) {
            // the error that it cannot run follows
            return screening;
        }
        if named.is_above_lowest_level() {
            note!(
                "{named} screens cases as {screening}, which is fast; some cases run again at its default level"
            );
        }
        if named.runs_hazards() {
            note!(
                "{named} leaves out graphs that are known to end its workers; hazards=run has them tried (docs/campaigns.md)"
            );
        }
        if screening.memory() != named.memory() {
            note!(
                "{screening} keeps memory, which is fast and can hide misuse of it; findings are confirmed without"
            );
        }
        screening
    };
    variants.into_iter().map(screening).collect()
}

/// The ladder of a campaign that screens at a lower level than the one named: it never makes a campaign over a number of cases depend on
/// the clock.
fn ladder(budget: Budget) -> Ladder {
    match budget {
        Budget::Cases(_) => Ladder::Sample(RERUN_ONE_IN),
        Budget::Seconds(_) => Ladder::Time(RERUN_SHARE),
    }
}

/// The folders of known findings: the given ones, which must exist, or those of the run to resume, or the default one if it
/// exists.
fn known(given: &[PathBuf], recorded: Option<&Settings>) -> Result<Vec<PathBuf>, Failure> {
    if let Some(recorded) = recorded.filter(|_| given.is_empty()) {
        return Ok(recorded.known.iter().map(|known| known.folder.clone()).collect());
    }
    if given.is_empty() {
        let default = PathBuf::from(KNOWN);
        return Ok(default.is_dir().then_some(default).into_iter().collect());
    }
    known_folders(given)
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
