use std::io::Write;

use twinfer_protocol::{FrameError, FromWorker};

use crate::message_sink::MessageSink;

/// The capacity of the queue in bytes that is kept between messages. Few messages are larger.
const KEPT_CAPACITY: usize = 1 << 16;

/// Writes messages to the supervisor's pipe.
pub struct MessageWriter<W> {
    output: W,
    /// The frames of queued messages.
    queued: Vec<u8>,
}

impl<W: Write> MessageWriter<W> {
    /// A writer to `output`, with nothing queued.
    pub const fn new(output: W) -> Self {
        Self { output, queued: Vec::new() }
    }

    /// Writes bytes that need not be a frame, after the queued messages.
    #[cfg(feature = "fault-injection")]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        self.queued.extend_from_slice(bytes);
        self.flush()
    }
}

impl<W: Write> MessageSink for MessageWriter<W> {
    fn send(&mut self, message: &FromWorker) -> Result<(), FrameError> {
        self.queue(message)?;
        self.flush()
    }

    fn queue(&mut self, message: &FromWorker) -> Result<(), FrameError> {
        message.write(&mut self.queued)
    }

    fn flush(&mut self) -> Result<(), FrameError> {
        if self.queued.is_empty() {
            return Ok(());
        }
        let written = self.output.write_all(&self.queued).and_then(|()| self.output.flush());
        self.queued.clear();
        self.queued.shrink_to(KEPT_CAPACITY);
        Ok(written?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_messages::{answer, frames, stage};

    #[test]
    fn queued_answer_is_written_before_the_next_message() {
        let mut written = Vec::new();
        let mut writer = MessageWriter::new(&mut written);
        writer.queue(&answer()).unwrap();
        assert!(writer.output.is_empty());
        writer.send(&stage()).unwrap();
        writer.queue(&answer()).unwrap();
        writer.flush().unwrap();
        writer.flush().unwrap();
        assert_eq!(written, frames(&[answer(), stage(), answer()]));
    }
}
