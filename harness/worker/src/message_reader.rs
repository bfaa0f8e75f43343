use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
};

use twinfer_protocol::{MessageError, ToWorker, read_to_worker};

/// The bytes that are read at once, and at most held of cases that wait: a few dozen of them, typically.
const BUFFER: usize = 1 << 16;

/// What the supervisor says, message by message.
///
/// Those that have arrived together are decoded together, which takes half as long a case as one at a time between a
/// backend's work.
pub struct Inbox<R> {
    stream: BufReader<R>,
    decoded: VecDeque<ToWorker>,
}

impl<R: Read> Inbox<R> {
    pub fn of(stream: R) -> Self {
        Self { stream: BufReader::with_capacity(BUFFER, stream), decoded: VecDeque::new() }
    }

    /// Waits for the next message; `None` where the supervisor closed the pipe.
    pub fn next(&mut self) -> Result<Option<ToWorker>, MessageError> {
        if let Some(message) = self.decoded.pop_front() {
            return Ok(Some(message));
        }
        let first = read_to_worker(&mut self.stream)?;
        self.decode_arrived();
        Ok(first)
    }

    /// Whether the next message is here already.
    pub fn has_next(&self) -> bool {
        !self.decoded.is_empty()
    }

    /// Decodes what is whole of what has arrived. What is not, or is no message, is left for its turn.
    fn decode_arrived(&mut self) {
        loop {
            let arrived = self.stream.buffer();
            let mut rest = arrived;
            let Ok(Some(message)) = read_to_worker(&mut rest) else { return };
            let consumed = arrived.len() - rest.len();
            self.stream.consume(consumed);
            self.decoded.push_back(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Request, Task};
    use twinfer_onnx::DataType;

    use super::*;

    /// Gives what it holds in reads of at most so many bytes.
    struct Pipe<'a>(&'a [u8], usize);

    impl Read for Pipe<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            let (read, rest) = self.0.split_at(count);
            buffer[..count].copy_from_slice(read);
            self.0 = rest;
            Ok(count)
        }
    }

    /// Cases with models of so many bytes.
    fn cases(lengths: &[usize]) -> Vec<u8> {
        let mut frames = Vec::new();
        for &length in lengths {
            let request = Request { precision: DataType::Float, tf32: false };
            let task = Task::new(vec![7; length], request, Vec::new());
            ToWorker::write_case(&mut frames, &task, &[0], &[]).unwrap();
        }
        frames
    }

    /// The lengths of the models that are heard, and what comes after them.
    fn heard(bytes: &[u8], at_once: usize) -> (Vec<usize>, Result<(), String>) {
        let mut inbox = Inbox::of(Pipe(bytes, at_once));
        let mut lengths = Vec::new();
        loop {
            match inbox.next() {
                Ok(Some(ToWorker::Case { task, .. })) => lengths.push(task.model.len()),
                Ok(Some(other)) => panic!("not what was said: {other:?}"),
                Ok(None) => return (lengths, Ok(())),
                Err(error) => return (lengths, Err(error.to_string())),
            }
        }
    }

    #[test]
    fn messages_are_the_same_however_they_arrive() {
        let lengths = [10, 0, 1, 2, 3 * BUFFER, 5, 6, 7, BUFFER, 20];
        let bytes = cases(&lengths);
        for at_once in [1, 7, 1000, BUFFER, BUFFER + 9, bytes.len()] {
            assert_eq!(heard(&bytes, at_once), (lengths.to_vec(), Ok(())), "{at_once} bytes at once");
        }
    }

    #[test]
    fn what_is_no_message_is_told_after_the_messages_before_it() {
        let mut cut = cases(&[1, 2, 3]);
        cut.pop();
        let garbled = [&cases(&[1, 2])[..], &[0xff; 64]].concat();
        for at_once in [1, 1 << 12] {
            let (lengths, end) = heard(&cut, at_once);
            assert_eq!((lengths, end.is_err()), (vec![1, 2], true));
            let (lengths, end) = heard(&garbled, at_once);
            assert_eq!(lengths, [1, 2]);
            assert!(end.unwrap_err().contains("over the limit"));
        }
    }

    #[test]
    fn what_arrives_together_is_decoded_together() {
        let bytes = cases(&[1, 2, 3]);
        let mut inbox = Inbox::of(Pipe(&bytes, cases(&[1, 2]).len() + 5));
        assert!(!inbox.has_next());
        inbox.next().unwrap();
        assert!(inbox.has_next());
        inbox.next().unwrap();
        assert!(!inbox.has_next(), "the third is not whole");
        inbox.next().unwrap();
        assert!(inbox.next().unwrap().is_none());
    }
}
