//! *Climbers* run cases again on the rungs above their variants, beside the lanes and fewer at a time.

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

/// A case on its way up.
pub struct Escalation {
    /// The case's place in the campaign.
    pub index: u64,
    pub prepared: Arc<EncodedCase>,
    pub references: Vec<RunReference>,
    /// What the campaign's first variant did, with which others are compared where golden cannot decide.
    pub first: Observation,
    /// The rungs that it climbs to, as places among the variants, in order.
    pub rungs: Vec<usize>,
}

/// A case that climbed.
pub struct Escalated {
    /// The case's place in the campaign.
    pub index: u64,
    /// By rung.
    pub records: Vec<VariantRecord>,
    /// What diverges, by rung and cause, in order.
    pub suspects: Vec<Arc<Suspect>>,
}

/// The way to the climbers. Once it is dropped, what still waits there is given up.
pub struct Queue {
    sender: Sender<Escalation>,
    waiting: Receiver<Escalation>,
}

/// Has cases climb, in any order.
#[derive(Clone, Copy)]
pub struct EscalationThread<'a> {
    pub crews: &'a [TriageWorkers],
    pub climbing: &'a EscalationPolicy<'a>,
}

impl Queue {
    /// The way, and the climbers' end of it.
    pub fn new() -> (Self, Receiver<Escalation>) {
        let (sender, waiting) = unbounded();
        (Self { sender, waiting: waiting.clone() }, waiting)
    }

    /// Has a case climb.
    pub fn send(&self, climb: Escalation) {
        // climbers that are gone have delivered why
        let _ = self.sender.send(climb);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        while self.waiting.try_recv().is_ok() {}
    }
}

impl EscalationThread<'_> {
    /// Works until there are no more cases.
    pub fn run(self, climbs: &Receiver<Escalation>, deliverer: &EventSender) {
        for climb in climbs {
            match self.climb(&climb, deliverer) {
                Ok(climbed) => deliverer.send(StageEvent::Escalated(Box::new(climbed))),
                Err(error) => return deliverer.send(StageEvent::Failed(error)),
            }
        }
    }

    fn climb(self, climb: &Escalation, deliverer: &EventSender) -> Result<Escalated, CampaignError> {
        let (mut records, mut suspects) = (Vec::new(), Vec::new());
        for &rung in &climb.rungs {
            let (record, found) = self.step(climb, rung, deliverer)?;
            records.push(record);
            suspects.extend(found.into_iter().map(Arc::new));
        }
        self.climbing.climbed(records.iter().map(VariantRecord::micros).sum());
        Ok(Escalated { index: climb.index, records, suspects })
    }

    fn step(
        self,
        climb: &Escalation,
        rung: usize,
        deliverer: &EventSender,
    ) -> Result<(VariantRecord, Vec<Suspect>), CampaignError> {
        let crew = &self.crews[rung];
        let Escalation { index, prepared, references, first, .. } = climb;
        let SequentialRun { observation, preceding, lost } =
            crew.observe_in_sequence(*index, &prepared.task)?;
        if let Some((stage, loss)) = lost {
            let (variant, reason) = (crew.info().variant.clone(), loss.to_string());
            let index = Some(*index);
            deliverer.send(StageEvent::Event(Box::new(Event::WorkerLost { variant, index, stage, reason })));
        }
        let difference = disagreement(references, &observation, first);
        let tried = Evaluated::new(crew.info(), Arc::clone(prepared), references.clone(), observation);
        let mut record = tried.record(crew.info());
        let from = &self.crews[0].info().variant;
        record.notes.extend(difference.map(|detail| Note::Differs(format!("from {from}: {detail}"))));
        Ok((record, Suspect::all(crew.info(), (*index, rung), tried, &preceding)))
    }
}
