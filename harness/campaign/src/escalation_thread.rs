//! *Escalation threads* run cases again on the rungs above their variants, beside the executors and fewer at a time.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use twinfer_case::{EncodedCase, Event, Note, Observation, VariantRecord};
use twinfer_checks::{Evaluated, RunReference, disagreement};
use twinfer_triage::Suspect;
use twinfer_workers::{SequentialRun, TriageWorkers};

use crate::{
    CampaignError,
    escalation_policy::EscalationPolicy,
    stage_event::{EventSender, StageEvent},
};

/// A case that is to run at stronger options.
pub struct Escalation {
    /// The case's index in the campaign.
    pub index: u64,
    pub case: Arc<EncodedCase>,
    /// What golden computes, run by run.
    pub references: Vec<RunReference>,
    /// What the campaign's first variant did, with which others are compared if golden cannot decide.
    pub first: Observation,
    /// The rungs that it runs on, as indices of variants, in order.
    pub rungs: Vec<usize>,
}

/// What a case showed at stronger options.
pub struct Escalated {
    /// The case's index in the campaign.
    pub index: u64,
    /// One per rung.
    pub records: Vec<VariantRecord>,
    /// What diverges, by rung and cause, in order.
    pub suspects: Vec<Arc<Suspect>>,
}

/// The way to the escalation threads. Cases that still wait in it when it is dropped are given up.
pub struct EscalationQueue {
    sender: Sender<Escalation>,
    waiting: Receiver<Escalation>,
}

/// Runs cases at stronger options, in any order.
#[derive(Clone, Copy)]
pub struct EscalationThread<'a> {
    pub variants: &'a [TriageWorkers],
    pub policy: &'a EscalationPolicy<'a>,
}

impl EscalationQueue {
    /// A queue, and the end that the threads receive from.
    pub fn new() -> (Self, Receiver<Escalation>) {
        let (sender, waiting) = unbounded();
        (Self { sender, waiting: waiting.clone() }, waiting)
    }

    /// Has a case run at stronger options.
    pub fn send(&self, escalation: Escalation) {
        // threads that have ended have sent why
        let _ = self.sender.send(escalation);
    }
}

impl Drop for EscalationQueue {
    fn drop(&mut self) {
        while self.waiting.try_recv().is_ok() {}
    }
}

impl EscalationThread<'_> {
    /// Works until there are no more cases.
    pub fn run(self, escalations: &Receiver<Escalation>, events: &EventSender) {
        for escalation in escalations {
            match self.escalate(&escalation, events) {
                Ok(escalated) => events.send(StageEvent::Escalated(Box::new(escalated))),
                Err(error) => return events.send(StageEvent::Failed(error)),
            }
        }
    }

    fn escalate(self, escalation: &Escalation, events: &EventSender) -> Result<Escalated, CampaignError> {
        let (mut records, mut suspects) = (Vec::new(), Vec::new());
        for &rung in &escalation.rungs {
            let (record, found) = self.run_on(rung, escalation, events)?;
            records.push(record);
            suspects.extend(found.into_iter().map(Arc::new));
        }
        self.policy.escalated(records.iter().map(VariantRecord::micros).sum());
        Ok(Escalated { index: escalation.index, records, suspects })
    }

    fn run_on(
        self,
        rung: usize,
        escalation: &Escalation,
        events: &EventSender,
    ) -> Result<(VariantRecord, Vec<Suspect>), CampaignError> {
        let workers = &self.variants[rung];
        let Escalation { index, case, references, first, .. } = escalation;
        let SequentialRun { observation, preceding, lost } =
            workers.observe_in_sequence(*index, &case.task)?;
        if let Some((stage, loss)) = lost {
            let (variant, reason) = (workers.info().variant.clone(), loss.to_string());
            let event = Event::WorkerLost { variant, index: Some(*index), stage, reason };
            events.send(StageEvent::Report(Box::new(event)));
        }
        let disagreement = disagreement(references, &observation, first);
        let evaluated = Evaluated::new(workers.info(), Arc::clone(case), references.clone(), observation);
        let mut record = evaluated.record(workers.info());
        let from = &self.variants[0].info().variant;
        record.notes.extend(disagreement.map(|detail| Note::Differs(format!("from {from}: {detail}"))));
        Ok((record, Suspect::all(workers.info(), (*index, rung), evaluated, &preceding)))
    }
}
