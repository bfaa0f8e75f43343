//! *Escalation threads* run cases again on the rungs above their variants, beside the executors and fewer at a time.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use twinfer_case::{Event, Note, VariantRecord};
use twinfer_checks::{Evaluated, disagreement};
use twinfer_triage::{Origin, Suspect, Triageable};
use twinfer_workers::{SequentialRun, TriageWorkers};

use crate::{
    CampaignError,
    escalation_policy::EscalationPolicy,
    stage_event::{EventSender, StageEvent},
    stages::{Escalated, Escalation},
};

/// The lanes to the escalation threads. Cases that still wait in them when they are dropped are given up.
pub struct EscalationQueue {
    /// To the rungs of ladders, which may take long.
    ladders: Lane,
    /// To poisoned memory alone. Behind ladders, most such cases would not have their turn.
    poison: Lane,
}

struct Lane {
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
    /// A queue, and the ends that threads receive from; each end has threads of its own.
    pub fn new() -> (Self, [Receiver<Escalation>; 2]) {
        let [ladders, poison] = [Lane::new(), Lane::new()];
        let ends = [&ladders, &poison].map(|lane| lane.waiting.clone());
        (Self { ladders, poison }, ends)
    }

    /// Has a case run at stronger options.
    pub fn send(&self, escalation: Escalation) {
        let lane = if escalation.is_only_poisoned { &self.poison } else { &self.ladders };
        // threads that have ended have sent why
        let _ = lane.sender.send(escalation);
    }
}

impl Lane {
    fn new() -> Self {
        let (sender, waiting) = unbounded();
        Self { sender, waiting }
    }
}

impl Drop for Lane {
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
        let micros = escalation.rungs.iter().copied().zip(records.iter().map(VariantRecord::micros));
        self.policy.escalated(&micros.collect::<Vec<_>>());
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
        let [of_rung, of_first] =
            [rung, 0].map(|variant| references.of(self.variants[variant].info().description.arithmetic));
        let disagreement = disagreement((&of_rung, &observation), (&of_first, first));
        let evaluated = Evaluated::new(workers.info(), Arc::clone(case), of_rung, observation);
        let mut record = evaluated.record(workers.info());
        let from = &self.variants[0].info().variant;
        record.notes.extend(disagreement.map(|detail| Note::Differs(format!("from {from}: {detail}"))));
        let origin = Origin { index: *index, variant: rung, preceding: &preceding };
        Ok((record, Suspect::all(workers.info(), origin, evaluated, Triageable::unexamined())))
    }
}
