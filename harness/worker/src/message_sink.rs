use std::io::Write;

use twinfer_protocol::{FrameError, FromWorker};

use crate::{
    fault_injection::{self, FaultInjection},
    message_writer::MessageWriter,
};

/// The sending end of a worker's connection to its supervisor.
pub trait MessageSink {
    /// Sends a message now, after those that are queued.
    fn send(&mut self, message: &FromWorker) -> Result<(), FrameError>;

    /// Queues a message until the next [`send`](Self::send) or [`flush`](Self::flush), so that one system call writes both.
    fn queue(&mut self, message: &FromWorker) -> Result<(), FrameError>;

    /// Sends the queued messages now.
    fn flush(&mut self) -> Result<(), FrameError>;
}

/// Opens the sink that writes to `output`, which injects a fault if
/// [`FAULT_INJECTION_VARIABLE`](crate::FAULT_INJECTION_VARIABLE) asks for one.
pub fn message_sink<'a>(output: impl Write + 'a) -> Box<dyn MessageSink + 'a> {
    let writer = MessageWriter::new(output);
    match fault_injection::seed_from_environment() {
        None => Box::new(writer),
        Some(seed) => Box::new(FaultInjection::new(writer, seed)),
    }
}
