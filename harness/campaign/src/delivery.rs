use std::{sync::Arc, thread};

use crossbeam_channel::Sender;
use twinfer_case::Event;
use twinfer_triage::{Inquest, Place};
use twinfer_workers::{Message, Observed};

use crate::{
    CampaignError,
    climber::{Climb, Climbed},
    judging::Judged,
    preparer::Referenced,
};

/// What the threads of a campaign tell the committer.
pub enum Delivery {
    /// A case is on its way to the lanes and has its reference.
    Referenced(Box<Referenced>),
    /// A lane has an observation of a case.
    Observed(Box<Observed>),
    /// A case has its verdicts, and climbs if it is to.
    Judged(Box<Judged>, Option<Box<Climb>>),
    /// A case climbed.
    Climbed(Box<Climbed>),
    /// An investigation came to an end; `None` where it was halted.
    Investigated(Place, Option<Arc<Inquest>>),
    /// Something to tell the world at once.
    Event(Box<Event>),
    /// A thread cannot go on.
    Failed(CampaignError),
}

/// A thread's end of the way to the committer, which learns of a panic there too.
pub struct Deliverer(Sender<Delivery>);

impl Deliverer {
    pub const fn new(sender: Sender<Delivery>) -> Self {
        Self(sender)
    }

    /// A committer that is gone needs nothing any more.
    pub fn send(&self, delivery: Delivery) {
        let _ = self.0.send(delivery);
    }
}

impl From<Message> for Delivery {
    fn from(message: Message) -> Self {
        match message {
            Message::Observed(observed) => Self::Observed(observed),
            Message::Event(event) => Self::Event(event),
            Message::Failed(error) => Self::Failed(error.into()),
        }
    }
}

impl Drop for Deliverer {
    fn drop(&mut self) {
        if thread::panicking() {
            let reason = "one of its threads panicked".to_owned();
            self.send(Delivery::Failed(CampaignError::Supervisor(reason)));
        }
    }
}
