//! *Generator threads* turn indices into cases: drawn, encoded once, queued for every variant, and evaluated by golden meanwhile.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use twinfer_case::{Arithmetic, EncodedCase};
use twinfer_checks::{CaseReferences, Oracle};
use twinfer_workers::WorkItem;

use crate::{
    CampaignError, CaseSource,
    hang_forecast::{HangForecast, Outlook},
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
    pub forecast: Arc<HangForecast>,
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
                Ok(Some(prepared)) => events.send(StageEvent::Prepared(Box::new(prepared))),
                Ok(None) => events.send(StageEvent::Waits(index)),
                Err(error) => return events.send(StageEvent::Failed(error)),
            }
        }
    }

    /// `None` if it is not known yet which variants leave the case out, and some of them may.
    fn prepare(&self, index: u64) -> Result<Option<PreparedCase>, CampaignError> {
        let case = EncodedCase::encode((self.source)(index))?;
        let repeated = self.repeat_every > 0 && index.is_multiple_of(self.repeat_every);
        let (left_out, is_final) = match self.forecast.outlook(index, &case.case, case.task.hash) {
            Outlook::Final(conditions) => (conditions, true),
            Outlook::Runs => (vec![None; self.queues.len()], false),
            Outlook::Waits => return Ok(None),
        };
        let running = self.queues.iter().zip(&left_out).filter(|(_, condition)| condition.is_none());
        for (queue, _) in running {
            for repeat in [false, true].into_iter().take(1 + usize::from(repeated)) {
                // executors that have ended have sent why
                let _ = queue.send(WorkItem { index, case: Arc::clone(&case), repeat });
            }
        }
        let references = CaseReferences::new(Arc::clone(&case), Arc::clone(&self.oracle));
        for arithmetic in &self.arithmetics {
            references.of(*arithmetic);
        }
        Ok(Some(PreparedCase { index, case, references, repeated, left_out, is_final }))
    }
}
