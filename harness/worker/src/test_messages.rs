//! Messages for the tests of message sinks.

use twinfer_case::{CaseHash, Observation, Outcome, Stage};
use twinfer_protocol::FromWorker;

/// An answer to a case.
pub fn answer() -> FromWorker {
    let observation = Observation::new(Stage::Execute, Outcome::Ok);
    FromWorker::Answer { hash: hash(), variant: 0, observation, last: false }
}

/// The start of the same case's first stage.
pub fn stage() -> FromWorker {
    FromWorker::Stage { hash: hash(), variant: 0, stage: Stage::Parse }
}

/// The bytes of messages in order.
pub fn frames(messages: &[FromWorker]) -> Vec<u8> {
    let mut frames = Vec::new();
    for message in messages {
        message.write(&mut frames).unwrap();
    }
    frames
}

fn hash() -> CaseHash {
    "0a".repeat(32).parse().unwrap()
}
