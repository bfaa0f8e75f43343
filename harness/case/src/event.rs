use serde::{Deserialize, Serialize};

use crate::{
    CaseHash, CaseRecord, CaseSize, Divergence, Finding, RunInfo, Stage, Summary, Variant, Workforce,
};

/// What a campaign tells while it runs; reporters consume nothing else.
///
/// Everything but what concerns workers and devices, and [`Event::Progress`], comes in case order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// Every variant has a worker that answered its handshake.
    CampaignStarted {
        /// What the results depend on.
        run: RunInfo,
    },
    /// A worker process answered its handshake.
    WorkerStarted {
        /// Which variant.
        variant: Variant,
        /// From spawning to the answer, in milliseconds.
        millis: u64,
    },
    /// A worker process ended unasked; it is replaced and its cases are run again.
    WorkerLost {
        /// Which variant.
        variant: Variant,
        /// The place of the case that it had in front, if it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u64>,
        /// What it was doing.
        stage: Stage,
        /// How it ended.
        reason: String,
    },
    /// A variant has other workers now than before.
    WorkforceChanged {
        /// Those of every variant.
        workforce: Vec<Workforce>,
    },
    /// No worker works on a device any more; others take its cases.
    DeviceGivenUp {
        /// Whose workers.
        variant: Variant,
        /// The device, as `--devices` names it.
        device: String,
        /// What happened there.
        reason: String,
    },
    /// A case has its verdicts.
    CaseFinished {
        /// The journal's record of it.
        record: CaseRecord,
    },
    /// A case showed a divergence whose provisional signature is new; it is run again in a fresh worker.
    Confirming {
        /// The case.
        case: CaseHash,
        /// What is to be confirmed.
        divergence: Divergence,
    },
    /// The divergence did not recur in a fresh worker with or without its history.
    NotConfirmed {
        /// The case.
        case: CaseHash,
        /// What did not recur.
        divergence: Divergence,
    },
    /// A minimisation accepted a smaller case.
    Minimizing {
        /// The case that is being made smaller.
        case: CaseHash,
        /// Its size now.
        size: CaseSize,
        /// Candidates evaluated so far.
        tried: u64,
    },
    /// A worker holds far more memory than it did when it was young; another takes its place once it has answered what it was
    /// given.
    WorkerOutgrown {
        /// What it serves.
        variant: Variant,
        /// What it holds.
        growth: Growth,
    },
    /// A divergence was investigated, and what that came to counts.
    Investigated {
        /// The place of its case.
        index: u64,
        /// The variant that diverged.
        variant: Variant,
        /// Candidates that were run.
        candidates: u64,
        /// From its beginning to its end, in milliseconds, in which others went on.
        millis: u64,
    },
    /// A finding is on disk.
    FindingRecorded {
        /// Its folder name.
        slug: String,
        /// The finding.
        finding: Finding,
        /// Whether its signature was unknown before this campaign.
        new: bool,
    },
    /// At most a few times a second: the state of things.
    Progress {
        /// Counts so far.
        summary: Summary,
        /// Cases that have been run and wait for an earlier one to be investigated; they are in no count yet.
        waiting: u64,
    },
    /// The budget is spent and everything is on disk.
    CampaignFinished {
        /// Counts over all cases.
        summary: Summary,
    },
}

/// How much memory a process came to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// Bytes when it had run its first thousand cases.
    pub from: u64,
    /// Bytes now.
    pub to: u64,
}
