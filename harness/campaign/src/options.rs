use std::{
    num::{NonZeroU64, NonZeroUsize},
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use twinfer_case::{Budget, Distribution, Ladder, Settings, Shard, Stage, TrustedVariant};
use twinfer_checks::{Oracle, golden};
use twinfer_store::{FindingsFolder, StoreError};
use twinfer_triage::{Matching, Scrutiny};
use twinfer_workers::{Deadlines, PoolOptions, WorkerCommand};

use crate::{CaseSource, LibraryCheck};

/// What a campaign does, on what, and for how long.
#[derive(Clone)]
pub struct Options {
    /// The backends to compare with golden, in order. `golden` itself is implied; it may be listed.
    pub variants: Vec<TrustedVariant>,
    /// The names of the generators, which take turns.
    pub families: Vec<String>,
    /// What the generators draw how often.
    pub distribution: Distribution,
    /// The seed that determines every case.
    pub seed: u64,
    /// When the campaign ends. If it is resumed, a number of cases includes those that are recorded already.
    pub budget: Budget,
    /// The part of the campaign to run.
    pub shard: Shard,
    /// The most worker processes per variant, and the number of generator threads and of judges.
    pub jobs: NonZeroUsize,
    /// How many of those worker processes are started.
    pub scaling: Scaling,
    /// How many divergences are investigated at once, beside the cases. Each takes a worker process or two.
    pub investigations: NonZeroUsize,
    /// The GPUs to use, as `CUDA_VISIBLE_DEVICES` names them; each worker uses one. If empty, workers use what is visible.
    pub devices: Vec<String>,
    /// How many processes a GPU serves at once; `None` if that is not bounded.
    pub device_workers: Option<NonZeroUsize>,
    /// How to start the worker of a built-in backend.
    pub worker: WorkerCommand,
    /// The verification of the libraries that the variants load; by default there are none.
    pub libraries: LibraryCheck,
    /// Folders of known findings, such as golden/cases. Cases that show them are counted, but the findings are not new.
    pub known: Vec<PathBuf>,
    /// Which cases count for a known finding.
    pub matching: Matching,
    /// How long a worker may stay in each stage.
    pub deadlines: Deadlines,
    /// One case in this many is run twice, in one worker, to see whether it is deterministic; 0 for none.
    pub repeat_every: u64,
    /// One case in this many is also run in a fresh worker, to see whether history matters; 0 for none.
    pub fresh_every: u64,
    /// Whether variants have to be different configurations.
    pub configurations: Configurations,
    /// How long a case waits for decisions about its divergences before the journal says that they are open.
    pub open_after: Duration,
    /// Which cases are judged segment by segment.
    pub scrutiny: Scrutiny,
    /// Whether to minimize what diverges; if not, findings hold the case as it was generated.
    pub minimize: bool,
    /// Whether experiments find out what explains a finding, and under which condition it shows.
    pub experiments: bool,
    /// Whether cases run that are predicted to hang because earlier ones did.
    pub run_hangs: bool,
    /// The reference semantics.
    pub oracle: Oracle,
    /// Which cases run again on the rungs above their variants; if `None`, no case does.
    pub ladder: Option<Ladder>,
    /// One case in this many, by its hash, also runs with poisoned memory on the variants that keep memory, with a pattern that the hash
    /// selects too; `None` for none.
    pub poison_every: Option<NonZeroU64>,
    /// Cases to run in place of those of the families.
    pub source: Option<CaseSource>,
    /// The path of the model or case that [`source`](Self::source) gives, for reports.
    pub checked: Option<String>,
    /// Set it to end the campaign after the cases that are under way.
    pub stop: Arc<AtomicBool>,
}

/// Whether two variants may be one configuration of one library, which agrees with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configurations {
    /// They may not: the comparison would show nothing.
    Differ,
    /// They may: they were drawn, a finding lists them, or an earlier run had them.
    MayRepeat,
}

impl Options {
    /// How many workers of a variant have something to do: as many as `jobs`, but no more than there are cases.
    pub(crate) fn useful_jobs(&self) -> usize {
        match self.budget {
            Budget::Cases(cases) => self.jobs.get().min(usize::try_from(cases).unwrap_or(usize::MAX)).max(1),
            Budget::Seconds(_) => self.jobs.get(),
        }
    }

    /// Options with defaults for everything that has a sensible one.
    pub fn new(variants: Vec<TrustedVariant>, worker: WorkerCommand) -> Self {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            variants,
            families: vec!["conv".to_owned(), "deconv".to_owned()],
            distribution: Distribution::default(),
            seed: 0,
            budget: Budget::Seconds(60),
            shard: Shard::WHOLE,
            jobs: cores,
            scaling: Scaling::default(),
            investigations: NonZeroUsize::new(cores.get() / 4).unwrap_or(NonZeroUsize::MIN),
            devices: Vec::new(),
            device_workers: None,
            worker,
            libraries: LibraryCheck::default(),
            known: Vec::new(),
            matching: Matching::default(),
            deadlines: Deadlines::default(),
            repeat_every: 50,
            fresh_every: 5000,
            configurations: Configurations::Differ,
            open_after: Duration::from_secs(5),
            scrutiny: Scrutiny::default(),
            minimize: true,
            experiments: true,
            run_hangs: false,
            oracle: golden(),
            ladder: None,
            poison_every: NonZeroU64::new(64),
            source: None,
            checked: None,
            stop: Arc::default(),
        }
    }

    /// How many workers of a rung may be busy at once. If a device serves only a few processes, most are left to the variants
    /// that run every case.
    pub fn most_on_a_rung(&self) -> NonZeroUsize {
        let devices = NonZeroUsize::new(self.devices.len()).unwrap_or(NonZeroUsize::MIN);
        let of_devices = devices.saturating_mul(RUNG_ON_A_CROWDED_DEVICE);
        self.device_workers.map_or(NonZeroUsize::MAX, |_| of_devices)
    }

    /// How long an investigation may try candidates; `None` without a budget of time, which others need too.
    pub const fn patience(&self) -> Option<Duration> {
        match self.budget {
            Budget::Cases(_) => None,
            Budget::Seconds(_) => Some(PATIENCE),
        }
    }

    /// How the workers of every variant are started.
    pub fn pools(&self) -> PoolOptions {
        PoolOptions {
            command: self.worker.clone(),
            deadlines: self.deadlines,
            devices: self.devices.clone(),
            investigations: self.investigations.get(),
            executors_yield: matches!(self.budget, Budget::Cases(_)),
        }
    }

    /// The options that change verdicts or findings and have no place of their own in `run.json`.
    pub(crate) fn settings(&self) -> Result<Settings, StoreError> {
        let millis = |stage| (stage, self.deadlines.of(stage).as_millis() as u64);
        let stages = [Stage::Start, Stage::Load, Stage::Parse, Stage::Build, Stage::Execute];
        Ok(Settings {
            minimize: self.minimize,
            run_hangs: self.run_hangs,
            repeat_every: self.repeat_every,
            fresh_every: self.fresh_every,
            deadlines: stages.map(millis).into(),
            limits: self.worker.limits,
            known: self
                .known
                .iter()
                .map(|folder| FindingsFolder::at(folder).describe())
                .collect::<Result<_, _>>()?,
        })
    }
}

/// About three times as long as reducing wrong values of TensorRT takes at level 0, and enough for a few candidates that crash.
const PATIENCE: Duration = Duration::from_mins(1);

/// The most workers of a rung that are busy at once on a device that serves a bounded number of processes.
const RUNG_ON_A_CROWDED_DEVICE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// How the number of worker processes per variant is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// One per device at first, and more while cases wait and there is memory: half of what is free when the campaign starts, and
    /// three quarters of a device's.
    #[default]
    AsNeeded,
    /// As many as [`Options::jobs`] allows, from the start.
    Fixed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_worker_is_without_a_case() {
        let jobs = |jobs, budget| {
            let options = Options::new(Vec::new(), WorkerCommand::new("twinfer"));
            Options { jobs: NonZeroUsize::new(jobs).unwrap(), budget, ..options }.useful_jobs()
        };
        assert_eq!(
            [jobs(200, Budget::Cases(5)), jobs(4, Budget::Cases(5)), jobs(4, Budget::Cases(0))],
            [5, 4, 1]
        );
        assert_eq!(jobs(200, Budget::Seconds(5)), 200);
    }
}
