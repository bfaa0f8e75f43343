use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Add,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use crate::{
    Blindness, CaseHash, Description, Distribution, Ladder, LibraryInfo, Outcome, ProcessorUse, Provenance,
    RunEnd, SegmentCounts, Shard, Stage, Timing, Variant, Verdict, WorkerLimits,
};

/// The version of the journal and run formats that this crate writes. It also reads version 3, whose lines have no checksums and
/// which says neither how a run ended nor what a backend reported, version 2, in which masks are called veils, and version 1, which
/// has no rungs.
pub const JOURNAL_FORMAT: u32 = 4;

/// One line of `journal.jsonl`: a case with its verdicts. The lines stand in any order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// [`JOURNAL_FORMAT`].
    pub format: u32,
    /// The index of the case in the whole campaign. Lines of earlier formats lack it: whoever reads a journal fills it in.
    #[serde(default)]
    pub index: u64,
    /// The hash of what the backends were given.
    pub case: CaseHash,
    /// The generator, the seed and the index of the case; `None` if no generator made it.
    pub provenance: Option<Provenance>,
    /// One entry per variant, in the campaign's order, without the rungs that did not run the case.
    pub variants: Vec<VariantRecord>,
    /// The signatures (as folder names) of the findings that this case shows.
    pub findings: Vec<String>,
    /// What the case looks like where it does not look like a finding that it shows; empty if it shows all of them plainly.
    #[serde(alias = "veils", default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<Mask>,
    /// What the divergences of this case were reduced to, by which those of later cases are recognized.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reduced: Vec<ReducedCase>,
    /// The variants with a divergence that is no known finding and was not investigated to the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Variant>,
    /// Whether it waits for decisions, so that its findings are still to come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Multiply-accumulates of one run; 0 if the graph's shapes are not known.
    pub macs: u64,
}

impl CaseRecord {
    /// Takes back that the case shows these `findings`, which no longer exist: what diverges counts as not investigated.
    pub fn take_back(&mut self, findings: &BTreeSet<String>) {
        if !self.findings.iter().any(|name| findings.contains(name)) {
            return;
        }
        self.findings.retain(|name| !findings.contains(name));
        self.masks.retain(|mask| !findings.contains(&mask.finding));
        self.reduced.retain(|reduced| !findings.contains(&reduced.finding));
        let diverging = self.variants.iter().filter(|record| !record.verdict.divergences().is_empty());
        self.open = diverging.map(|record| record.variant.clone()).collect();
    }
}

/// A finding that a case shows *masked*: the case does not look like it, and it, or one like it, was reduced to what the finding shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// The finding's folder name.
    pub finding: String,
    /// What the case looks like.
    #[serde(flatten)]
    pub guise: Guise,
}

/// A case that a divergence was reduced to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReducedCase {
    /// The folder name of the finding that it shows.
    pub finding: String,
    /// A hash over the case without names and opset, its variant, and what it showed before experiments.
    pub minimal: CaseHash,
}

/// What a case looks like that shows a finding masked; cases of one guise count together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Guise {
    /// The operators of a case that no mutant explains, in which two mistakes may have combined, or which was refused.
    pub operators: Vec<String>,
    /// The mutants that explain the case itself by accident.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<String>,
    /// The [check](crate::Signature::failed_check) that failed in the backend, if fresh workers named another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

/// What one variant did with one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// The variant.
    pub variant: Variant,
    /// The deepest stage that the variant entered.
    pub stage: Stage,
    /// How that stage ended, with what the backend reported, shortened; `None` in a journal of format 3 or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What the checks concluded.
    pub verdict: Verdict,
    /// Further observations of the checks that are not divergences.
    pub notes: Vec<Note>,
    /// Whether the variant was compared with golden or another variant at the deepest stage that its backend reaches on this
    /// machine; on a case that must be refused, whether the backend decided to refuse or accept it. False if the verdict is
    /// neither `conforms` nor `diverges`. In a journal of format 3 or earlier: whether outputs were compared with golden's.
    pub compared: bool,
    /// Wall time of each stage; the only part that differs between runs of the same seed.
    pub timings: Vec<Timing>,
}

/// An observation of a check that is not a divergence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// The largest deviation below half a grid step, in grid steps. Only runs of formats 1 to 3 hold it, which took such a
    /// deviation for rounding.
    AlgorithmRounding(f64),
    /// The largest share of the error bound that was used, if a value deviates at all.
    BoundUsed(f64),
    /// The outputs conform only within the bounds of algorithms that transform the operands of a convolution.
    Transforms,
    /// The rule of a capability that predicted a refusal although the backend accepted the graph: it is wrong or out of date.
    AcceptedDespite(String),
    /// Where part of the work ran, if that is not where the variant asks, as the backend reports it.
    Placement(String),
    /// How the operators ran that the graph asks to run quantized.
    #[serde(rename = "arithmetic")]
    QuantizedExecution(QuantizedExecution),
    /// Golden has no answer that binds all backends, and another variant gave a different one: which, and how it differs.
    Differs(String),
    /// What the comparison of outputs cannot see, where that is much.
    Blind(Blindness),
    /// The segments of the model that were judged by themselves, and the nodes that were not.
    Segments(SegmentCounts),
    /// Golden does not support the model, for this reason: variants are compared with each other.
    NoReference(String),
    /// Outputs of such a model that are not compared with another variant either, and why.
    Uncompared(String),
}

/// How the operators with dequantized operands ran; both ways are right within golden's bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuantizedExecution {
    /// Fused with the quantizers around them, on quantized operands.
    Fused,
    /// On floats that quantizers made.
    Simulated,
    /// Some operators fused and some simulated.
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

/// `run.json`: everything that a campaign's results depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// [`JOURNAL_FORMAT`].
    pub format: u32,
    /// What tells this run from all others, even those with the same options; empty in formats before 4.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The runs that were merged into this one, by [`id`](Self::id); empty if it was not merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// The version of twinfer.
    pub twinfer: String,
    /// The seed of the campaign.
    pub seed: u64,
    /// What the generators draw how often.
    #[serde(default)]
    pub distribution: Distribution,
    /// The generators, by name, in order.
    pub families: Vec<String>,
    /// The path of the model or case that was checked, as it was given; `None` if cases were generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<String>,
    /// When the campaign stops.
    pub budget: Budget,
    /// The part of the campaign that this run is.
    pub shard: Shard,
    /// Worker processes per variant.
    pub jobs: usize,
    /// Which cases run again at higher rungs; `None` if no case does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Ladder>,
    /// The variants with their backends' descriptions: those that run every case, then the rungs above them.
    pub variants: Vec<VariantInfo>,
    /// The libraries that the variants load, each once; empty in formats before 4.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<LibraryInfo>,
    /// The other options that decide which cases diverge and what their findings are; `None` in formats before 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// The machine of the campaign.
    pub machine: Machine,
    /// The largest number of workers that each variant had at once; empty until the campaign ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workforce: Vec<Workforce>,
    /// The processor time of the workers since the campaign was started or last resumed; `None` until it ends, and where backends are compared on a model
    /// that golden does not support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorUse>,
    /// What all parts of the campaign took together; `None` until the first one ends, if one was killed or failed, and in runs that were merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<RunTotals>,
    /// The findings that turned out to be known ones in the end, by folder name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recognized: Vec<String>,
    /// How the campaign ended; `None` while it runs, if its process was killed, and in a run of format 3 or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// When the campaign started, in seconds since 1970-01-01 UTC.
    pub started: u64,
    /// The times that the campaign was resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Continuation>,
    /// The journal when the campaign last ended; `None` until then. Lines that a resumed campaign adds come behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalEnd>,
    /// The journal of the cases that were decided again, when the campaign last ended; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revisited: Option<JournalEnd>,
}

/// Options of a campaign that change verdicts or findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Whether findings are minimized.
    pub minimize: bool,
    /// Whether cases run that are predicted to hang.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub run_hangs: bool,
    /// One case in this many runs twice in one worker; 0 for none.
    pub repeat_every: u64,
    /// One case in this many also runs in a fresh worker; 0 for none.
    pub fresh_every: u64,
    /// How many milliseconds a worker may stay in each stage.
    pub deadlines: BTreeMap<Stage, u64>,
    /// What each worker may use of the machine.
    #[serde(default)]
    pub limits: WorkerLimits,
    /// The folders of known findings.
    pub known: Vec<KnownFindings>,
}

/// A folder of findings that were known before a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownFindings {
    /// The folder.
    pub folder: PathBuf,
    /// The number of findings in it.
    pub findings: u64,
    /// A checksum over what they are recognized by: their signatures, minimal cases, explanations, triggers and outcomes.
    pub checksum: String,
    /// Their folder names, as the journal names them; `None` in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
}

/// What a campaign took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTotals {
    /// The wall time from the first case to the last verdict, in seconds.
    pub seconds: f64,
    /// Worker processes that ended unexpectedly and were replaced.
    pub workers_lost: u64,
}

impl Add for RunTotals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            workers_lost: self.workers_lost.saturating_add(other.workers_lost),
        }
    }
}

/// A continuation of a campaign that had ended or was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continuation {
    /// When it started, in seconds since 1970-01-01 UTC.
    pub started: u64,
    /// The cases that were recorded by then.
    pub cases: u64,
    /// When it stops. Cases include the recorded ones, seconds begin anew.
    pub budget: Budget,
    /// The findings that were unfinished by then, by folder name. They were removed, as their cases are decided again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// The lines that the journal had by then.
    #[serde(default)]
    pub journal_lines: u64,
    /// The lines that the journal of the cases that were decided again had by then.
    #[serde(default)]
    pub revisited_lines: u64,
}

/// How far a journal reached when its campaign ended: a journal that is shorter has lost lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEnd {
    /// The number of lines.
    pub lines: u64,
    /// The checksum of the last of them, which covers all lines before it.
    pub checksum: String,
}

/// When a campaign stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// After this many cases.
    Cases(u64),
    /// After this many seconds, with the first of the cases that the seed gives; a few of the last may be missing.
    Seconds(u64),
}

/// A variant and the backend behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantInfo {
    /// The variant.
    pub variant: Variant,
    /// The backend's description of itself.
    pub description: Description,
    /// The variant above which this variant is a rung; `None` if it runs every case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung_of: Option<Variant>,
}

impl VariantRecord {
    /// The record of a case that a variant did not run because earlier ones hung under this `condition`.
    pub fn left_out(variant: Variant, condition: String) -> Self {
        let (notes, timings) = (Vec::new(), Vec::new());
        let verdict = Verdict::LeftOut(condition);
        Self { variant, stage: Stage::Start, outcome: None, verdict, notes, compared: false, timings }
    }

    /// Whether the variant ran the case.
    pub const fn has_run(&self) -> bool {
        !matches!(self.verdict, Verdict::LeftOut(_))
    }

    /// Whether the variant was compared; in a record of an earlier format, whether it has a verdict.
    pub fn is_compared(&self) -> bool {
        let has_verdict = matches!(self.verdict, Verdict::Conforms | Verdict::Diverges(_));
        has_verdict && (self.compared || self.outcome.is_none())
    }

    /// The wall time of all stages in microseconds.
    pub fn micros(&self) -> u64 {
        Timing::total(&self.timings)
    }
}

/// How many workers of a variant run its cases concurrently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workforce {
    /// The variant.
    pub variant: Variant,
    /// The number of workers.
    pub workers: usize,
    /// Why there are no more.
    pub bound: WorkerBound,
    /// Bytes of memory that belong to one worker alone; `None` if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<u64>,
}

/// Why a variant has no more workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerBound {
    /// The options ask for this many.
    Asked,
    /// There is one worker per core.
    Cores,
    /// No cases wait for another worker.
    Cases,
    /// The memory set aside for workers is used up.
    Memory,
    /// The memory of the device is used up except for a reserve.
    DeviceMemory,
    /// Workers take half of the processes that the device serves at once; the other half is left to investigations and rungs.
    DeviceWorkers,
    /// Each worker needs a device alone.
    Device,
    /// Another worker did not start.
    Start,
}

/// The memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMemory {
    /// Free bytes.
    pub free: u64,
    /// All bytes, free or not.
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
