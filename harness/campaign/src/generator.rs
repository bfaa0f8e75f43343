//! *Generator threads* turn indices into cases: drawn, encoded once, queued for every variant, and evaluated by golden meanwhile.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use twinfer_case::{Arithmetic, EncodedCase};
use twinfer_checks::{CaseReferences, Oracle};
use twinfer_workers::WorkItem;

use crate::{
    CampaignError, CaseSource,
    stage_event::{EventSender, StageEvent},
    stages::PreparedCase,
};

/// What every generator thread shares.
#[derive(Clone)]
pub struct Generator {
    pub source: CaseSource,
    pub oracle: Oracle,
    /// The arithmetic of each variant that runs every case.
    pub arithmetics: Vec<Arithmetic>,
    /// One per variant that runs every case.
    pub queues: Vec<Sender<WorkItem>>,
    /// One case in this many is run twice; 0 for none.
    pub repeat_every: u64,
}

impl Generator {
    /// Prepares the case of every index until there are no more.
    pub fn run(self, indices: &Receiver<u64>, events: &EventSender) {
        for index in indices {
            match self.prepare(index) {
                Ok(prepared) => events.send(StageEvent::Prepared(Box::new(prepared))),
                Err(error) => return events.send(StageEvent::Failed(error)),
            }
        }
    }

    fn prepare(&self, index: u64) -> Result<PreparedCase, CampaignError> {
        let case = EncodedCase::encode((self.source)(index))?;
        let repeated = self.repeat_every > 0 && index.is_multiple_of(self.repeat_every);
        for queue in &self.queues {
            for repeat in [false, true].into_iter().take(1 + usize::from(repeated)) {
                // executors that have ended have sent why
                let _ = queue.send(WorkItem { index, case: Arc::clone(&case), repeat });
            }
        }
        let references = CaseReferences::new(Arc::clone(&case), Arc::clone(&self.oracle));
        for arithmetic in &self.arithmetics {
            references.of(*arithmetic);
        }
        Ok(PreparedCase { index, case, references, repeated })
    }
}
