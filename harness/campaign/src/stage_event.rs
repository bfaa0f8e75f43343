use std::{sync::Arc, thread};

use crossbeam_channel::Sender;
use twinfer_case::Event;
use twinfer_triage::{Place, TriageResult};
use twinfer_workers::{Message, Observed};

use crate::{
    CampaignError,
    escalation_thread::{Escalated, Escalation},
    generator::PreparedCase,
    judging::JudgedCase,
};

/// What the threads of a campaign tell the committer.
pub enum StageEvent {
    /// A case is on its way to the lanes and has its reference.
    PreparedCase(Box<PreparedCase>),
    /// A lane has an observation of a case.
    Observed(Box<Observed>),
    /// A case has its verdicts, and climbs if it is to.
    JudgedCase(Box<JudgedCase>, Option<Box<Escalation>>),
    /// A case climbed.
    Escalated(Box<Escalated>),
    /// An investigation came to an end; `None` where it was halted.
    Investigated(Place, Option<Arc<TriageResult>>),
    /// Something to tell the world at once.
    Event(Box<Event>),
    /// A thread cannot go on.
    Failed(CampaignError),
}

/// A thread's end of the way to the committer, which learns of a panic there too.
pub struct EventSender(Sender<StageEvent>);

impl EventSender {
    pub const fn new(sender: Sender<StageEvent>) -> Self {
        Self(sender)
    }

    /// A committer that is gone needs nothing any more.
    pub fn send(&self, delivery: StageEvent) {
        let _ = self.0.send(delivery);
    }
}

impl From<Message> for StageEvent {
    fn from(message: Message) -> Self {
        match message {
            Message::Observed(observed) => Self::Observed(observed),
            Message::Event(event) => Self::Event(event),
            Message::Failed(error) => Self::Failed(error.into()),
        }
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        if thread::panicking() {
            let reason = "one of its threads panicked".to_owned();
            self.send(StageEvent::Failed(CampaignError::Supervisor(reason)));
        }
    }
}
