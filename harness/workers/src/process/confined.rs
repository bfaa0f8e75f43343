use std::{process::Child, sync::OnceLock};

use tempfile::TempDir;
use tracing::warn;
use twinfer_keeper::ProcessTable;

use super::{accounting::Account, launch::Launch, shared_child::SharedChild, usage};
use crate::{
    limits::{Excess, Limits, Usage},
    memory,
};

/// The process of a worker or of its keeper, confined to limits.
pub struct ConfinedChild {
    /// The process.
    pub child: SharedChild,
    /// The processor time of the worker.
    pub account: Account,
    limits: Limits,
    /// Removed when dropped.
    temporary_folder: TempDir,
    /// What the worker used when it was ready; unset before.
    at_start: OnceLock<Usage>,
    /// The limit for which the worker was killed; unset if it was not.
    excess: OnceLock<Excess>,
}

impl ConfinedChild {
    /// Confines `child`, which `launch` started.
    pub fn new(child: Child, Launch { temporary_folder, limits, is_kept, .. }: Launch) -> Self {
        let child = SharedChild::new(child, is_kept);
        Self {
            child,
            account: Account::default(),
            limits,
            temporary_folder,
            at_start: OnceLock::new(),
            excess: OnceLock::new(),
        }
    }

    /// Records what the worker uses now that it is ready.
    pub fn record_start(&self) {
        let _ = self.at_start.set(self.usage(&ProcessTable::read()));
    }

    /// Records the processor time of the worker so far, by `table`, which is of now.
    pub fn record_processor_time(&self, table: &ProcessTable) {
        let processes = self.child.processes(table);
        self.account.record(processes.into_iter().filter_map(usage::processor_time).sum());
    }

    /// Kills the worker if it exceeds a limit, by `table`, which is of now.
    pub fn enforce(&self, table: &ProcessTable) {
        let at_start = self.at_start.get().copied().unwrap_or_default();
        if let Some(excess) = self.limits.exceeded_by(&self.usage(table), &at_start)
            && self.excess.set(excess).is_ok()
        {
            let (pid, used) = (self.child.pid().to_string(), excess.used);
            warn!(pid, used, reason = excess.to_string(), "worker over its limit");
            self.child.kill();
        }
    }

    /// Bytes that the worker has allocated for itself, without what its own children have; 0 if the system does not report it.
    pub fn allocated(&self) -> u64 {
        self.child.worker().and_then(|worker| memory::private_bytes(usage::number(worker))).unwrap_or(0)
    }

    /// The limit for which the worker was killed; `None` if it was not.
    pub fn excess(&self) -> Option<Excess> {
        self.excess.get().copied()
    }

    fn usage(&self, table: &ProcessTable) -> Usage {
        usage::of(&self.child.processes(table), self.temporary_folder.path())
    }
}
