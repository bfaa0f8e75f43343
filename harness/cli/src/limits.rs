//! The options that limit what workers may use of the machine.

use std::num::NonZeroU64;

use clap::Args;
use twinfer_case::WorkerLimits;
use twinfer_configuration::{Size, StageTimes};
use twinfer_workers::Deadlines;

#[derive(Clone, Copy, Debug, Default, Args)]
pub struct LimitArguments {
    /// Memory that a worker and the processes it starts may use: 512MiB, 8GiB [default: half of the machine's]
    #[arg(long = "worker-memory", value_name = "SIZE")]
    memory: Option<Size>,
    /// Maximum number of processes in a worker's process tree, the worker included [default: 256]
    #[arg(long = "worker-processes", value_name = "N")]
    processes: Option<NonZeroU64>,
    /// Maximum total size of a worker's temporary files, and of any single file that it writes [default: 16GiB]
    #[arg(long = "worker-disk", value_name = "SIZE")]
    disk: Option<Size>,
    /// Time limit for each stage of a worker (start, load, parse, build, execute): start=10m,build=5m [default: 30s, 2m to
    /// start and to build]
    #[arg(long = "deadline", value_name = "STAGE=TIME")]
    deadlines: Option<StageTimes>,
}

impl LimitArguments {
    /// These limits, and those of `limits` for resources that have none here.
    pub fn or(self, limits: WorkerLimits) -> WorkerLimits {
        WorkerLimits {
            memory: self.memory.map(Size::bytes).or(limits.memory),
            processes: self.processes.map_or(limits.processes, NonZeroU64::get),
            disk: self.disk.map_or(limits.disk, Size::bytes),
        }
    }

    /// These deadlines, and those of `deadlines` for stages that have none here.
    pub fn deadlines_or(self, deadlines: Deadlines) -> Deadlines {
        deadlines.with(|stage| self.deadlines?.of(stage))
    }
}
