//! The worker protocol: the messages that a supervisor and a worker process exchange over the worker's stdin and stdout.
//!
//! A *frame* is a little-endian `u32` header length, a JSON header of that many bytes, and the raw tensor bytes
//! whose lengths the header lists. A *message* is the meaning of a frame. The protocol is the same for built-in and
//! external workers; docs/protocol.md describes it for authors of workers.
//!
//! ```
//! use twinfer_protocol::{PROTOCOL_VERSION, ToWorker, read_to_worker};
//!
//! let mut pipe = Vec::new();
//! ToWorker::write_hello(&mut pipe, PROTOCOL_VERSION, &["golden".parse()?])?;
//! match read_to_worker(&mut pipe.as_slice())? {
//!     Some(ToWorker::Hello { protocol, variants }) => {
//!         assert_eq!((protocol, variants[0].to_string().as_str()), (PROTOCOL_VERSION, "golden"));
//!     }
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod frame;
mod message;
mod message_error;
mod stage;
mod wire;

pub use frame::{FrameError, MAX_HEADER, MAX_PARTS, MAX_PAYLOAD};
pub use message::{
    Fault, FaultCause, FromWorker, ToWorker, read_from_worker, read_limited_from_worker, read_to_worker,
};
pub use message_error::MessageError;

/// The protocol version of this crate; both sides must have the same.
pub const PROTOCOL_VERSION: u32 = 1;
