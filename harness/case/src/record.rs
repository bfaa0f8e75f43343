use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CaseHash, Description, Ladder, Provenance, Stage, Timing, Variant, Verdict};

/// The version of the journal and run formats that this crate writes. It reads 1 too, which has no rungs.
pub const JOURNAL_FORMAT: u32 = 2;

/// One line of `journal.jsonl`: a case with its verdicts, in case order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// [`JOURNAL_FORMAT`].
    pub format: u32,
    /// What the backends were given.
    pub case: CaseHash,
    /// Which generator, seed and place.
    pub provenance: Option<Provenance>,
    /// One entry a variant, in the campaign's order, without the rungs that the case did not climb to.
    pub variants: Vec<VariantRecord>,
    /// The signatures (as folder names) of the findings that this case shows.
    pub findings: Vec<String>,
    /// Those of the findings that this case shows masked.
    #[serde(alias = "veils", default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<Mask>,
    /// The variants whose divergence is no known finding and was not investigated before time was up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Variant>,
    /// Multiply-accumulates of one run, where the graph's shapes are known.
    pub macs: u64,
}

impl CaseRecord {
    /// The case's place in the campaign that generated it.
    pub fn place(&self) -> Option<u64> {
        self.provenance.as_ref().map(|provenance| provenance.index)
    }
}

/// A finding that a case shows *masked*: nothing explains the case's own divergence, and mutants explain that of the smaller
/// cases that it, or one like it, was reduced to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// The finding's folder name.
    pub finding: String,
    /// The operators of the case, by which cases like it are recognized.
    pub operators: Vec<String>,
}

/// What one variant did with one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Which variant.
    pub variant: Variant,
    /// The deepest stage it entered.
    pub stage: Stage,
    /// What the checks concluded.
    pub verdict: Verdict,
    /// What was noticed besides, none of it a divergence.
    pub notes: Vec<Note>,
    /// Whether outputs were computed and compared with the reference.
    pub compared: bool,
    /// Wall time of each stage; the only part that differs between runs of the same seed.
    pub timings: Vec<Timing>,
}

/// Something a check noticed that is no divergence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// In the exact regime, a deviation below half a grid step: the largest, in grid steps.
    AlgorithmRounding(f64),
    /// In the rounding regime, the largest share of the error bound that was used.
    BoundUsed(f64),
    /// A capability predicted a refusal, and the backend accepted: the rule is wrong or out of date.
    AcceptedDespite(String),
    /// Part of the work ran elsewhere than asked for, as the backend reports it.
    Placement(String),
    /// How the operators ran that the graph asks to run quantized.
    #[serde(rename = "arithmetic")]
    QuantizedExecution(QuantizedExecution),
    /// Golden has no answer that all must meet, and another variant gave a different one: which, and in what way.
    Differs(String),
}

/// How the operators with dequantized operands ran; both ways are right within golden's bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuantizedExecution {
    /// Fused with the quantisers around them, on quantised operands.
    Fused,
    /// On floats that quantisers made.
    Simulated,
    /// Some one way and some the other.
    Mixed,
}

impl fmt::Display for QuantizedExecution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fused => "fused",
            Self::Simulated => "simulated",
            Self::Mixed => "mixed",
        })
    }
}

/// The most shards of a campaign.
pub const MAX_SHARDS: u64 = 1 << 16;

/// `run.json`: everything that a campaign's results depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// [`JOURNAL_FORMAT`].
    pub format: u32,
    /// The version of twinfer.
    pub twinfer: String,
    /// The seed of the campaign.
    pub seed: u64,
    /// The generators, by name, in order.
    pub families: Vec<String>,
    /// When the campaign stops.
    pub budget: Budget,
    /// `i` of `n`: this campaign takes the cases whose index is `i` modulo `n`.
    pub shard: (u64, u64),
    /// Worker processes a variant.
    pub jobs: usize,
    /// Which cases climb; none where this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Ladder>,
    /// The variants with what their backends say of themselves: those that run every case, then the rungs above them.
    pub variants: Vec<VariantInfo>,
    /// Where it ran.
    pub machine: Machine,
    /// How many workers each variant came to have at once; empty until a campaign knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workforce: Vec<Workforce>,
    /// Seconds since 1970-01-01 UTC.
    pub started: u64,
}

/// When a campaign stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// After this many cases.
    Cases(u64),
    /// After this many seconds, with a prefix of the same cases.
    Seconds(u64),
}

/// A variant and the backend behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantInfo {
    /// Which variant.
    pub variant: Variant,
    /// What its backend says of itself.
    pub description: Description,
    /// The variant above which this is a rung; absent where every case runs on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung_of: Option<Variant>,
}

impl VariantRecord {
    /// What its stages took together, in microseconds.
    pub fn micros(&self) -> u64 {
        Timing::total(&self.timings)
    }
}

/// How many workers of a variant run its cases side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workforce {
    /// Which variant.
    pub variant: Variant,
    /// How many.
    pub workers: usize,
    /// Why there are no more.
    pub bound: WorkerBound,
    /// Bytes of memory that one of them held of its own, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<u64>,
}

/// Why a variant has no more workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerBound {
    /// So many were asked for.
    Asked,
    /// There is one a core.
    Cores,
    /// No cases wait for another.
    Cases,
    /// The memory for workers is used up.
    Memory,
    /// The memory of the device is used up but for a reserve.
    DeviceMemory,
    /// Half of the processes that the device serves at once are there; the others are left to investigations and rungs.
    DeviceWorkers,
    /// Each wants its device alone.
    Device,
    /// Another did not start.
    Start,
}

/// The memory of a device as a worker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMemory {
    /// Bytes that nobody has taken.
    pub free: u64,
    /// All bytes.
    pub total: u64,
}

impl fmt::Display for WorkerBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "as requested",
            Self::Cores => "one per core",
            Self::Cases => "idle capacity left",
            Self::Memory => "limited by memory (half of what was free)",
            Self::DeviceMemory => "limited by device memory (a quarter stays free)",
            Self::DeviceWorkers => "limited by processes per device (half of what the device serves)",
            Self::Device => "one per device",
            Self::Start => "another worker failed to start",
        })
    }
}

/// A machine, as far as results depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system.
    pub os: String,
    /// The processor architecture.
    pub arch: String,
    /// Processors that this process may use.
    pub cores: usize,
}
