use std::{sync::Arc, thread};

use crossbeam_channel::Sender;
use twinfer_case::Event;
use twinfer_triage::{SuspectId, TriageResult};
use twinfer_workers::{Message, Observed};

use crate::{
    CampaignError,
    stages::{Escalated, Escalation, JudgedCase, PreparedCase},
};

/// What the threads of a campaign send to the dispatcher.
pub enum StageEvent {
    /// A case is generated, queued for the executors, and has its reference.
    Prepared(Box<PreparedCase>),
    /// The case at this index runs once it is known that it is not left out.
    Waits(u64),
    /// An executor has an observation of a case.
    Observed(Box<Observed>),
    /// A case has its verdicts, and runs again at stronger options if there is an escalation.
    Judged(Box<JudgedCase>, Option<Box<Escalation>>),
    /// A case has run at stronger options.
    Escalated(Box<Escalated>),
    /// The investigation of this suspect ended; without a result if it was canceled.
    Triaged(SuspectId, Option<Arc<TriageResult>>),
    /// Something for the reporters, at once.
    Report(Box<Event>),
    /// A thread cannot go on.
    Failed(CampaignError),
}

/// A thread's way to the dispatcher, which receives [`StageEvent::Failed`] if the thread panics.
pub struct EventSender(Sender<StageEvent>);

impl EventSender {
    pub const fn new(sender: Sender<StageEvent>) -> Self {
        Self(sender)
    }

    /// Sends an event; a dispatcher that has ended needs none.
    pub fn send(&self, event: StageEvent) {
        let _ = self.0.send(event);
    }
}

impl From<Message> for StageEvent {
    fn from(message: Message) -> Self {
        match message {
            Message::Observed(observed) => Self::Observed(observed),
            Message::Event(event) => Self::Report(event),
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
