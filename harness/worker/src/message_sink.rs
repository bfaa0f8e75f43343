use twinfer_protocol::{FrameError, FromWorker};

/// The sending end of a worker's connection to its supervisor.
pub trait MessageSink {
    /// Sends a message now, after those that are queued.
    fn send(&mut self, message: &FromWorker) -> Result<(), FrameError>;

    /// Queues a message until the next [`send`](Self::send) or [`flush`](Self::flush), so that one system call writes both.
    fn queue(&mut self, message: &FromWorker) -> Result<(), FrameError>;

    /// Sends the queued messages now.
    fn flush(&mut self) -> Result<(), FrameError>;
}
