use std::{sync::Arc, thread, time::Duration};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use twinfer_case::Event;

use crate::{error::WorkerError, work_item::Observed};

/// What executors and the autoscaler send to the campaign's dispatcher.
pub enum Message {
    /// An executor has an observation of a case.
    Observed(Box<Observed>),
    /// An event that reporters receive at once.
    Event(Box<Event>),
    /// A thread cannot continue.
    Failed(WorkerError),
}

/// Sends a thread's messages to the dispatcher. If the thread panics, the dispatcher receives [`Message::Failed`].
pub struct Outbox(Arc<dyn Fn(Message) + Send + Sync>);

impl Outbox {
    /// An outbox whose messages go to `send`.
    pub fn new(send: impl Fn(Message) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    /// Sends a message; it is dropped if the dispatcher has ended.
    pub fn send(&self, message: Message) {
        (self.0)(message);
    }
}

impl Clone for Outbox {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        if thread::panicking() {
            let reason = "one of its threads panicked".to_owned();
            self.send(Message::Failed(WorkerError::Supervisor(reason)));
        }
    }
}

/// How long to collect messages after the first one: each of them alone would wake the receiver, several times a case.
const COLLECTING: Duration = Duration::from_millis(1);

/// Receives all messages that have arrived, or waits for the first one; empty if none arrives within `timeout`.
pub fn receive_all<T>(inbox: &Receiver<T>, timeout: Duration) -> Result<Vec<T>, WorkerError> {
    let first = match inbox.recv_timeout(timeout) {
        Ok(first) => first,
        Err(RecvTimeoutError::Timeout) => return Ok(Vec::new()),
        Err(RecvTimeoutError::Disconnected) => {
            let reason = "its threads ended before the campaign".to_owned();
            return Err(WorkerError::Supervisor(reason));
        }
    };
    thread::sleep(COLLECTING);
    Ok(std::iter::once(first).chain(inbox.try_iter()).collect())
}
