use std::num::NonZeroUsize;

use twinfer_case::{Shard, Variant};
use twinfer_generators::Family;

/// The measurements to take and the cases to take them on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The backends to measure, by [`Part`]; if `None`, ONNX Runtime's CPU provider, in one process and in a campaign.
    pub backends: Option<Vec<Variant>>,
    /// The measurements of `backends` to take.
    pub only: Vec<Part>,
    /// The numbers of processes to measure a backend with, in turn; if empty, 1 and `jobs`.
    pub processes: Vec<NonZeroUsize>,
    /// The largest number of cases per measurement.
    pub cases: u64,
    /// The time limit of a measurement in seconds, without start-up; `None` for no limit.
    pub time: Option<u64>,
    /// The generators of the cases.
    pub families: Vec<Family>,
    /// The seed that decides every case.
    pub seed: u64,
    /// Worker processes of a campaign, and threads of the loop around ONNX Runtime.
    pub jobs: NonZeroUsize,
    /// Whether the campaign minimizes its findings.
    pub minimize: bool,
}

/// A measurement of several backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Each backend alone; TensorRT with `memory=off` and `memory=keep` unless the variant says which.
    Bare,
    /// All backends, golden and the checks, one after the other in one process, at default levels and with `memory=off`.
    Naive,
    /// A campaign.
    Campaign,
}

/// A loop over cases without a campaign.
#[derive(Clone, Debug)]
pub struct LoopSettings {
    /// The backends that run every case, one after the other.
    pub variants: Vec<Variant>,
    /// The generators of the cases.
    pub families: Vec<Family>,
    /// The seed that decides every case.
    pub seed: u64,
    /// `(i, n)`: every n-th case, starting with the i-th.
    pub shard: Shard,
    /// The largest number of cases of all shards together.
    pub cases: u64,
    /// The time limit in seconds, without start-up; `None` for no limit.
    pub time: Option<u64>,
    /// Whether the loop also generates the cases, evaluates golden and compares.
    pub judged: bool,
}

/// Settings for measuring the steps of a case one by one.
#[derive(Clone, Debug)]
pub struct PartsSettings {
    /// The backend that runs the cases.
    pub variant: Variant,
    /// The generators of the cases.
    pub families: Vec<Family>,
    /// The seed that decides every case.
    pub seed: u64,
    /// The largest number of cases.
    pub cases: usize,
}

impl Settings {
    /// All parts of 20,000 convolutions and deconvolutions, on `jobs` processes.
    #[must_use]
    pub fn new(jobs: NonZeroUsize) -> Self {
        Self {
            backends: None,
            only: vec![Part::Bare, Part::Naive, Part::Campaign],
            processes: Vec::new(),
            cases: 20_000,
            time: None,
            families: vec![Family::Conv, Family::Deconv],
            seed: 0,
            jobs,
            minimize: true,
        }
    }
}
