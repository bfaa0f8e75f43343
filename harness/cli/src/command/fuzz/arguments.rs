use std::path::PathBuf;

use clap::Args;
use twinfer_case::{Budget, Distribution, Ladder, Shard};
use twinfer_configuration::{Configuration, Devices, Jobs, seconds};
use twinfer_generators::Family;
use twinfer_log::LogLevel;
use twinfer_reports::Format;

use crate::{
    backends::Backends, continuation::ContinuationArguments, formats::formats, limits::LimitArguments,
    trust::TrustArguments, whole_number::whole_number,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Backends to compare, separated by commas, each followed by its options: ort:cpu,opt=off,trt-rtx [default: what is
    /// installed for the GPU, or golden,ort:cpu,trt-rtx]
    #[arg(long, value_name = "A,B")]
    pub backends: Option<Backends>,
    #[command(flatten)]
    pub trust: TrustArguments,
    /// Generator families, separated by commas: conv, deconv, qdq-conv, qdq-deconv, block, invalid [default: all]
    #[arg(long, value_delimiter = ',')]
    pub family: Vec<Family>,
    /// Which cases the generators draw: baseline, which never changes and on which figures are measured, or full [default: full]
    #[arg(long)]
    pub distribution: Option<Distribution>,
    /// Stop after N cases
    #[arg(long, conflicts_with = "time", value_name = "N", value_parser = whole_number::<u64>)]
    pub cases: Option<u64>,
    /// Stop after this time: 90s, 30m, 8h [default: 60s]
    #[arg(long, value_parser = seconds)]
    pub time: Option<u64>,
    /// Seed of the generators [default: 0]
    #[arg(long, value_parser = whole_number::<u64>)]
    pub seed: Option<u64>,
    /// Worker processes per backend [default: scales with load and memory, up to one per core]
    #[arg(long)]
    pub jobs: Option<Jobs>,
    /// Re-run suspicious cases and a sample of the rest at higher optimization levels; limit by share of backend time (10%)
    /// or sample rate (1/50) [default: none; if TensorRT is screened at a lower level than --backends says, 5%, or 1/50 with --cases]
    #[arg(long, value_name = "10%|1/N")]
    pub ladder: Option<Ladder>,
    /// Also run every case on N derivatives of each TensorRT variant, with options drawn from `twinfer backends options`; a
    /// finding that only these show is reported with the fewest options that reproduce it
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>)]
    pub sample_options: Option<usize>,
    /// GPUs to use, separated by commas; each worker uses one
    #[arg(long, value_name = "0,1")]
    pub devices: Option<Devices>,
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Run every n-th case, starting at case i: 0/4, 1/4, 2/4, 3/4 [default: 0/1]
    #[arg(long, value_name = "i/n")]
    pub shard: Option<Shard>,
    /// Run directory to write [default: next free runs/NNNN]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub continuation: ContinuationArguments,
    /// Folder of known findings, or a run directory; repeatable [default: golden/cases if present]
    #[arg(long, value_name = "DIR")]
    pub known: Vec<PathBuf>,
    /// Defaults and known issues [default: ./twinfer.toml if present]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Keep findings as generated, without minimizing them
    #[arg(long)]
    pub no_minimize: bool,
    /// Run cases that are predicted to hang, too [default: one in 16]
    #[arg(long)]
    pub run_hangs: bool,
    /// Inject one fault per worker, chosen by this seed; for tests of the supervisor
    #[cfg(feature = "fault-injection")]
    #[arg(long, hide = true, value_name = "SEED")]
    pub inject: Option<u64>,
    /// Level of debug.log in the run directory: off, error, warn, info, debug, trace (what happens per case)
    #[arg(long, default_value_t = LogLevel::Debug, value_name = "LEVEL")]
    pub log: LogLevel,
    /// Report format
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    pub format: Format,
    /// Print every finding with all details instead of one screen
    #[arg(short = 'v', long, visible_alias = "verbose")]
    pub all: bool,
}

impl Arguments {
    /// Whether a run is to be resumed.
    pub fn resumes(&self) -> bool {
        self.continuation.resumes(self.out.as_deref())
    }

    /// `configuration` with what the command line sets of what decides the cases, the jobs, the devices and the ladder.
    pub fn override_configuration(&self, configuration: Configuration) -> Configuration {
        let given = self.cases.map(Budget::Cases).or(self.time.map(Budget::Seconds));
        Configuration {
            families: if self.family.is_empty() { configuration.families } else { self.family.clone() },
            distribution: self.distribution.or(configuration.distribution),
            seed: self.seed.or(configuration.seed),
            jobs: self.jobs.or(configuration.jobs),
            devices: self.devices.clone().or(configuration.devices),
            ladder: self.ladder.or(configuration.ladder),
            budget: given.or(configuration.budget),
            ..configuration
        }
    }
}
