//! The worker protocol: what a supervisor and a worker process say to each other over the worker's stdin and stdout.
//!
//! A *frame* is a little-endian `u32` header length, a JSON header of that many bytes, and the raw tensor bytes
//! whose lengths the header lists. A *message* is what a frame means. The protocol is the same for built-in and
//! external workers; docs/protocol.md describes it for people who write one.

mod frame;
mod message;
mod stage;
mod wire;

pub use frame::{FrameError, MAX_HEADER, MAX_PARTS, MAX_PAYLOAD};
pub use message::{Fault, FaultCause, FromWorker, MessageError, ToWorker, read_from_worker, read_to_worker};

/// The version that this crate speaks; both sides must speak the same.
pub const PROTOCOL_VERSION: u32 = 1;
