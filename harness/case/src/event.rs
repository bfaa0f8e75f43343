use serde::{Deserialize, Serialize};

use crate::{
    CaseHash, CaseRecord, CaseSize, Divergence, Finding, Kind, ProcessorUse, RunEnd, RunInfo, Stage, Summary,
    Variant, Workforce,
};

/// What a campaign reports while it runs; reporters consume nothing else.
///
/// Events about findings come in case order. A case finishes when its divergences are decided, at once if it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// Every variant has a worker that answered its handshake.
    CampaignStarted {
        /// Everything that the results depend on.
        run: RunInfo,
    },
    /// A worker process answered its handshake.
    WorkerStarted {
        /// The variant that the worker serves.
        variant: Variant,
        /// Milliseconds from spawning the process to its answer.
        millis: u64,
    },
    /// A worker process ended unexpectedly; it is replaced and its cases are run again.
    WorkerLost {
        /// The variant that the worker serves.
        variant: Variant,
        /// The index of the case that the worker was running; `None` if it was running none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u64>,
        /// The stage that the worker was in.
        stage: Stage,
        /// Why the worker was lost, in words, such as `the worker ended with signal 11`.
        reason: String,
    },
    /// The number of workers of a variant changed.
    WorkforceChanged {
        /// The workers of every variant.
        workforce: Vec<Workforce>,
    },
    /// A device is no longer used; the other devices run its cases.
    DeviceGivenUp {
        /// The variant whose workers used the device.
        variant: Variant,
        /// The device, as `--devices` names it.
        device: String,
        /// Why the device is no longer used.
        reason: String,
    },
    /// A case has its verdicts, and its divergences are decided or left open.
    CaseFinished {
        /// The journal's record of it.
        record: CaseRecord,
    },
    /// A case showed a divergence whose provisional signature is new; it is run again in a fresh worker.
    Confirming {
        /// The case.
        case: CaseHash,
        /// The divergence to confirm.
        divergence: Divergence,
    },
    /// The divergence did not recur in a fresh worker, with or without the cases that preceded it.
    NotConfirmed {
        /// The case.
        case: CaseHash,
        /// The divergence that did not recur.
        divergence: Divergence,
    },
    /// A minimization accepted a smaller case.
    Minimizing {
        /// The case that is being minimized.
        case: CaseHash,
        /// The size of the smaller case.
        size: CaseSize,
        /// Candidates evaluated so far.
        tried: u64,
    },
    /// A worker holds far more memory than after its first cases; it is replaced once it has answered the cases it was sent.
    WorkerOutgrown {
        /// The variant that the worker serves.
        variant: Variant,
        /// How its memory grew.
        growth: MemoryGrowth,
    },
    /// The investigation of a divergence ended and its result counts.
    Investigated {
        /// The index of the case.
        index: u64,
        /// The variant that diverged.
        variant: Variant,
        /// Candidates that were run.
        candidates: u64,
        /// Milliseconds from the beginning of the investigation to its end; investigations overlap.
        millis: u64,
    },
    /// A finding is on disk.
    FindingRecorded {
        /// The finding's folder name.
        slug: String,
        /// The finding.
        finding: Finding,
        /// Whether it was unknown before this campaign and is recorded for the first time: it is recorded again when another variant shows it.
        new: bool,
    },
    /// A finding that a resumed campaign made before it was interrupted.
    FindingRestored {
        /// The finding's folder name.
        slug: String,
        /// The finding.
        finding: Finding,
    },
    /// The state of the campaign, a few times a second at most.
    Progress {
        /// Counts so far.
        summary: Summary,
        /// Cases whose divergences are not decided yet; no count includes them.
        waiting: u64,
        /// The investigations under way.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        investigating: Vec<Investigating>,
        /// The workers that are starting, of all variants.
        #[serde(default, skip_serializing_if = "StartingWorkers::is_none")]
        starting: StartingWorkers,
    },
    /// The workers of the campaign have ended.
    WorkersEnded {
        /// The processor time that they took.
        processor: ProcessorUse,
    },
    /// The campaign ended, and everything is on disk.
    CampaignFinished {
        /// Counts over all cases.
        summary: Summary,
        /// Whether the budget was spent or the campaign ended early.
        end: RunEnd,
    },
}

/// A divergence that is being investigated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Investigating {
    /// The index of the case.
    pub index: u64,
    /// The variant that diverged.
    pub variant: Variant,
    /// The kind of the divergence.
    pub kind: Kind,
    /// What was expected and what was observed, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// The workers that are starting, which takes cores that cases could use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartingWorkers {
    /// The workers whose start is under way.
    pub now: u64,
    /// The workers that wait until others have started.
    pub waiting: u64,
}

impl StartingWorkers {
    /// Whether there are none.
    pub const fn is_none(&self) -> bool {
        self.now + self.waiting == 0
    }
}

/// The growth of a process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryGrowth {
    /// Bytes after the process's first thousand cases.
    pub from: u64,
    /// Bytes now.
    pub to: u64,
}
