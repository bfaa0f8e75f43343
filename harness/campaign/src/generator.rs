//! *Preparers* turn indices into cases: generated, encoded once, sent to every variant, evaluated by golden meanwhile.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use twinfer_case::EncodedCase;
use twinfer_checks::{Oracle, RunReference, references};
use twinfer_workers::WorkItem;

use crate::{
    CampaignError, CaseSource,
    stage_event::{EventSender, StageEvent},
};

/// What every preparer shares.
#[derive(Clone)]
pub struct Generator {
    pub source: CaseSource,
    pub oracle: Oracle,
    /// One queue a variant.
    pub queues: Vec<Sender<WorkItem>>,
    /// One case in this many is run twice; 0 for none.
    pub repeat_every: u64,
}

/// A case with its reference.
pub struct PreparedCase {
    /// The case's place in the campaign.
    pub index: u64,
    /// The case.
    pub prepared: Arc<EncodedCase>,
    /// What should come out.
    pub references: Vec<RunReference>,
    /// Whether it runs twice.
    pub repeated: bool,
}

impl Generator {
    /// Prepares the case of every ticket until there are no more.
    pub fn run(self, tickets: &Receiver<u64>, deliverer: &EventSender) {
        for index in tickets {
            match self.prepare(index) {
                Ok(referenced) => deliverer.send(StageEvent::PreparedCase(Box::new(referenced))),
                Err(error) => return deliverer.send(StageEvent::Failed(error)),
            }
        }
    }

    fn prepare(&self, index: u64) -> Result<PreparedCase, CampaignError> {
        let prepared = EncodedCase::encode((self.source)(index))?;
        let repeated = self.repeat_every > 0 && index.is_multiple_of(self.repeat_every);
        for queue in &self.queues {
            for repeat in [false, true].into_iter().take(1 + usize::from(repeated)) {
                // a lane that is gone has delivered its failure
                let _ = queue.send(WorkItem { index, case: Arc::clone(&prepared), repeat });
            }
        }
        let references = references(&prepared, &self.oracle);
        Ok(PreparedCase { index, prepared, references, repeated })
    }
}
