use std::{sync::Arc, thread, time::Duration};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use twinfer_case::Event;

use crate::{
    CampaignError,
    climber::{Climb, Climbed},
    docket::Place,
    investigation::Inquest,
    judging::Judged,
    lane::Observed,
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

/// How long deliveries gather once the first has come: each of them would wake the committer, several times a case.
const GATHERING: Duration = Duration::from_millis(1);

/// Takes everything that arrives; nothing where that is nothing for as long as `patience`.
pub fn gather(inbox: &Receiver<Delivery>, patience: Duration) -> Result<Vec<Delivery>, CampaignError> {
    let first = match inbox.recv_timeout(patience) {
        Ok(first) => first,
        Err(RecvTimeoutError::Timeout) => return Ok(Vec::new()),
        Err(RecvTimeoutError::Disconnected) => {
            let reason = "its threads ended before the campaign".to_owned();
            return Err(CampaignError::Supervisor(reason));
        }
    };
    thread::sleep(GATHERING);
    Ok(std::iter::once(first).chain(inbox.try_iter()).collect())
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

impl Drop for Deliverer {
    fn drop(&mut self) {
        if thread::panicking() {
            let reason = "one of its threads panicked".to_owned();
            self.send(Delivery::Failed(CampaignError::Supervisor(reason)));
        }
    }
}
