use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use twinfer_case::{Budget, Description, Ladder, Variant};
use twinfer_checks::{Oracle, golden_for};
use twinfer_workers::{Deadlines, NicedWorkers, PoolOptions, WorkerCommand};

use crate::CaseSource;

/// What a campaign is to do.
#[derive(Clone)]
pub struct Options {
    /// The backends to compare with golden, in order; `golden` itself is implied and may be listed.
    pub variants: Vec<Variant>,
    /// The generators to draw from, by name, in turn.
    pub families: Vec<String>,
    /// Decides every case.
    pub seed: u64,
    /// When to stop.
    pub budget: Budget,
    /// `(i, n)`: take the cases whose index is `i` modulo `n`.
    pub shard: (u64, u64),
    /// Worker processes a variant at most, and threads that generate and evaluate.
    pub jobs: NonZeroUsize,
    /// How many of those workers there are.
    pub scaling: Scaling,
    /// Divergences that are investigated at once, beside the cases; a worker process or two each.
    pub investigations: NonZeroUsize,
    /// The GPUs to use, as `CUDA_VISIBLE_DEVICES` names them, each worker one of them; all that are visible where this is
    /// empty.
    pub devices: Vec<String>,
    /// How many processes one of them serves at once, where that is bounded.
    pub device_workers: Option<NonZeroUsize>,
    /// How to start the worker of a built-in backend.
    pub worker: WorkerCommand,
    /// The run directory: `run.json`, `journal.jsonl`, `findings/`.
    pub out: PathBuf,
    /// Folders of findings that are known already, such as golden/cases; they are counted but are not new.
    pub known: Vec<PathBuf>,
    /// How long a worker may stay in each stage.
    pub deadlines: Deadlines,
    /// One case in this many is run twice, in one worker, to see whether it is deterministic; 0 for none.
    pub repeat_every: u64,
    /// One case in this many is also run in a fresh worker, to see whether history matters; 0 for none.
    pub fresh_every: u64,
    /// Minimise what diverges; otherwise findings hold the case as it was generated.
    pub minimize: bool,
    /// The reference semantics; golden, with bounds that hold on every variant, where there is none.
    pub oracle: Option<Oracle>,
    /// Which cases are run again on the rungs above their variants, as their backends state them; none without it.
    pub ladder: Option<Ladder>,
    /// Cases that take the place of the families' ones.
    pub source: Option<CaseSource>,
    /// Go on with the campaign in `out` that ended early; its other options must be the same but for `budget`, which
    /// in cases counts those that are there already, and `jobs`.
    pub resume: bool,
    /// Ends the campaign after the cases that are under way.
    pub stop: Arc<AtomicBool>,
}

impl Options {
    /// Defaults for everything that has a sensible one.
    pub fn new(variants: Vec<Variant>, worker: WorkerCommand, out: PathBuf) -> Self {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            variants,
            families: vec!["conv".to_owned(), "deconv".to_owned()],
            seed: 0,
            budget: Budget::Seconds(60),
            shard: (0, 1),
            jobs: cores,
            scaling: Scaling::default(),
            investigations: NonZeroUsize::new(cores.get() / 4).unwrap_or(NonZeroUsize::MIN),
            devices: Vec::new(),
            device_workers: None,
            worker,
            out,
            known: Vec::new(),
            deadlines: Deadlines::default(),
            repeat_every: 50,
            fresh_every: 5000,
            minimize: true,
            oracle: None,
            ladder: None,
            source: None,
            resume: false,
            stop: Arc::default(),
        }
    }

    /// How many workers of a rung may be busy at once, those that climb or those that investigate: few where a device serves
    /// only so many processes, which what runs every case needs.
    pub fn most_on_a_rung(&self) -> NonZeroUsize {
        let devices = NonZeroUsize::new(self.devices.len()).unwrap_or(NonZeroUsize::MIN);
        let of_devices = devices.saturating_mul(RUNG_ON_A_CROWDED_DEVICE);
        self.device_workers.map_or(NonZeroUsize::MAX, |_| of_devices)
    }

    /// How long an investigation may go on: where time is the budget, no longer than leaves time for others.
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
            niced: match self.budget {
                Budget::Cases(_) => NicedWorkers::Executors,
                Budget::Seconds(_) => NicedWorkers::Triage,
            },
        }
    }

    /// The reference for variants that these describe.
    pub fn oracle_for<'a>(&self, descriptions: impl IntoIterator<Item = &'a Description>) -> Oracle {
        let arithmetic = descriptions.into_iter().map(|description| description.arithmetic);
        self.oracle.clone().unwrap_or_else(|| golden_for(arithmetic))
    }
}

/// About three times what making wrong values of TensorRT at level 0 smaller takes, and enough for a few candidates that crash.
const PATIENCE: Duration = Duration::from_mins(1);

/// Workers of a rung that are busy at once on a device that serves only so many processes.
const RUNG_ON_A_CROWDED_DEVICE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// How many workers run a variant's cases side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// One a device to begin with, and more while its cases wait for one and there is memory: half of what is free when
    /// the campaign begins, and a device's but for a quarter.
    #[default]
    AsNeeded,
    /// As many as [`Options::jobs`] allows, from the beginning.
    Fixed,
}
