//! The options of a campaign: the command line takes precedence over the run that is resumed or else the configuration, which take precedence
//! over the defaults.

use std::{num::NonZeroU64, path::PathBuf, time::Duration};

use twinfer_campaign::{Configurations, Options, Scaling};
use twinfer_case::{Budget, Distribution, Ladder, Percent, RunInfo, Settings};
use twinfer_configuration::{Configuration, Jobs};
use twinfer_generators::Family;
use twinfer_libraries::Hashing;
#[cfg(feature = "fault-injection")]
use twinfer_worker::FAULT_INJECTION_VARIABLE;
use twinfer_workers::Deadlines;
#[cfg(feature = "fault-injection")]
use twinfer_workers::WorkerCommand;

use super::{Arguments, variants};
use crate::{
    Failure,
    known::{known_folders, warn_of_incomplete},
    mps, option_sample,
    provision::{provision, verify_in_background},
    worker::worker_with,
};

/// Which cases run again at the levels that were named, where cases are screened at a lower one.
const RERUN_ONE_IN: NonZeroU64 = NonZeroU64::new(50).unwrap();
const RERUN_SHARE: Percent = Percent::new(5.0).unwrap();

/// The default folder of known findings.
const KNOWN: &str = "golden/cases";

/// The time of a campaign whose budget nobody sets, in seconds.
const TIME: u64 = 60;

/// The options of the campaign that `arguments` ask for, which resumes the `recorded` run if there is one.
pub fn options(
    arguments: &Arguments,
    configuration: &Configuration,
    recorded: Option<&RunInfo>,
) -> Result<Options, Failure> {
    let requested = arguments.override_configuration(match recorded {
        Some(run) => with_recorded(run, configuration)?,
        None => configuration.clone(),
    });
    let seed = requested.seed.unwrap_or(0);
    let listed = match recorded.filter(|_| arguments.backends.is_none()) {
        Some(run) => variants::recorded(arguments, run)?,
        None => variants::named(arguments, configuration)?,
    };
    let has_rungs_below = listed.iter().any(|variant| variant.is_above_lowest_level());
    let drawn = arguments.sample_options.filter(|_| recorded.is_none()).unwrap_or(0);
    let variants = option_sample::extend(variants::for_screening(listed), seed, drawn)?;
    let provision = provision(&variants)?;
    let mut worker = worker_with(&provision)?;
    let settings = recorded.and_then(|run| run.settings.as_ref());
    let limits = settings.map_or_else(|| configuration.worker_limits(), |settings| settings.limits);
    worker.limits = arguments.limits.or(limits);
    #[cfg(feature = "fault-injection")]
    let worker = with_injected_faults(worker, arguments.inject);
    let known = known(&arguments.known, settings)?;
    let defaults = Options::new(variants, worker);
    let budget = requested.budget.unwrap_or(Budget::Seconds(TIME));
    let default_ladder = has_rungs_below.then(|| ladder(budget));
    let minimize = !arguments.no_minimize && settings.is_none_or(|settings| settings.minimize);
    let are_listed = drawn == 0 && recorded.is_none();
    let configurations = if are_listed { Configurations::Differ } else { Configurations::MayRepeat };
    let families = if requested.families.is_empty() { &Family::ALL } else { &requested.families[..] };
    Ok(Options {
        families: families.iter().map(Family::to_string).collect(),
        distribution: requested.distribution.unwrap_or(Distribution::Full),
        seed,
        budget,
        shard: arguments.shard.or(recorded.map(|run| run.shard)).unwrap_or_default(),
        jobs: requested.jobs.map_or(defaults.jobs, Jobs::number),
        scaling: if requested.jobs.is_some() { Scaling::Fixed } else { Scaling::AsNeeded },
        devices: requested.devices.map_or_else(Vec::new, |devices| devices.0),
        device_workers: twinfer_backend::processes_a_device()
            .map(|processes| mps::workers_a_device(processes, &defaults.variants)),
        ladder: requested.ladder.or(default_ladder),
        libraries: verify_in_background(provision, Hashing::Full),
        known,
        deadlines: deadlines(arguments, configuration, settings),
        experiments: minimize,
        configurations,
        run_hangs: arguments.run_hangs || settings.is_some_and(|settings| settings.run_hangs),
        minimize,
        ..defaults
    })
}

/// `configuration` with the settings of the recorded run.
fn with_recorded(run: &RunInfo, configuration: &Configuration) -> Result<Configuration, Failure> {
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

/// How long a worker may stay in each stage.
fn deadlines(arguments: &Arguments, configuration: &Configuration, recorded: Option<&Settings>) -> Deadlines {
    let configured = |stage| configuration.deadline?.of(stage);
    let recorded_or_configured = |stage| match recorded {
        Some(settings) => settings.deadlines.get(&stage).copied().map(Duration::from_millis),
        None => configured(stage),
    };
    arguments.limits.deadlines_or(Deadlines::default().with(recorded_or_configured))
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
    let folders = folders_of_known(given, recorded)?;
    warn_of_incomplete(&folders)?;
    Ok(folders)
}

fn folders_of_known(given: &[PathBuf], recorded: Option<&Settings>) -> Result<Vec<PathBuf>, Failure> {
    if let Some(recorded) = recorded.filter(|_| given.is_empty()) {
        return Ok(recorded.known.iter().map(|known| known.folder.clone()).collect());
    }
    if given.is_empty() {
        let default = PathBuf::from(KNOWN);
        return Ok(default.is_dir().then_some(default).into_iter().collect());
    }
    known_folders(given)
}

/// The workers inject the faults that `seed` selects, if there is one.
#[cfg(feature = "fault-injection")]
fn with_injected_faults(mut worker: WorkerCommand, seed: Option<u64>) -> WorkerCommand {
    worker.env.extend(seed.map(|seed| (FAULT_INJECTION_VARIABLE.to_owned(), seed.to_string())));
    worker
}
