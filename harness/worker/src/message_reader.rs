use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
};

use twinfer_protocol::{MessageError, ToWorker, read_to_worker};

/// The number of bytes that are read at once, which also limits the cases that are decoded ahead: typically a few dozen.
const CAPACITY: usize = 1 << 16;

/// Reads the supervisor's messages.
///
/// Messages that have arrived together are decoded together. That takes half as long per case as decoding each between two runs
/// of a backend.
pub struct MessageReader<R> {
    stream: BufReader<R>,
    decoded: VecDeque<ToWorker>,
}

impl<R: Read> MessageReader<R> {
    /// A reader of `stream`.
    pub fn new(stream: R) -> Self {
        Self { stream: BufReader::with_capacity(CAPACITY, stream), decoded: VecDeque::new() }
    }

    /// Waits for the next message; `None` if the supervisor has closed the pipe.
    pub fn next(&mut self) -> Result<Option<ToWorker>, MessageError> {
        if let Some(message) = self.decoded.pop_front() {
            return Ok(Some(message));
        }
        let first = read_to_worker(&mut self.stream)?;
        self.decode_arrived();
        Ok(first)
    }

    /// Whether the next message has been decoded already.
    pub fn has_next(&self) -> bool {
        !self.decoded.is_empty()
    }

    /// Decodes the complete messages that have arrived. An incomplete or invalid one is left to [`next`](Self::next).
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

    /// Bytes, and the number of bytes that each read returns at most.
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

    /// The frames of cases whose models have these lengths.
    fn cases(lengths: &[usize]) -> Vec<u8> {
        let mut frames = Vec::new();
        for &length in lengths {
            let request = Request { precision: DataType::Float, tf32: false };
            let task = Task::new(vec![7; length], request, Vec::new());
            ToWorker::write_case(&mut frames, &task, &[0]).unwrap();
        }
        frames
    }

    /// Reads all messages; returns the lengths of the models, and the error at the end, if any.
    fn read_all(bytes: &[u8], at_once: usize) -> (Vec<usize>, Result<(), String>) {
        let mut reader = MessageReader::new(Pipe(bytes, at_once));
        let mut lengths = Vec::new();
        loop {
            match reader.next() {
                Ok(Some(ToWorker::Case { task, .. })) => lengths.push(task.model.len()),
                Ok(Some(other)) => panic!("unexpected message: {other:?}"),
                Ok(None) => return (lengths, Ok(())),
                Err(error) => return (lengths, Err(error.to_string())),
            }
        }
    }

    #[test]
    fn messages_do_not_depend_on_how_their_bytes_arrive() {
        let lengths = [10, 0, 1, 2, 3 * CAPACITY, 5, 6, 7, CAPACITY, 20];
        let bytes = cases(&lengths);
        for at_once in [1, 7, 1000, CAPACITY, CAPACITY + 9, bytes.len()] {
            assert_eq!(read_all(&bytes, at_once), (lengths.to_vec(), Ok(())), "{at_once} bytes per read");
        }
    }

    #[test]
    fn invalid_bytes_are_an_error_after_the_valid_messages() {
        let mut cut = cases(&[1, 2, 3]);
        cut.pop();
        let garbled = [&cases(&[1, 2])[..], &[0xff; 64]].concat();
        for at_once in [1, 1 << 12] {
            let (lengths, end) = read_all(&cut, at_once);
            assert_eq!((lengths, end.is_err()), (vec![1, 2], true));
            let (lengths, end) = read_all(&garbled, at_once);
            assert_eq!(lengths, [1, 2]);
            assert!(end.unwrap_err().contains("over the limit"));
        }
    }

    #[test]
    fn messages_that_arrive_together_are_decoded_together() {
        let bytes = cases(&[1, 2, 3]);
        let mut reader = MessageReader::new(Pipe(&bytes, cases(&[1, 2]).len() + 5));
        assert!(!reader.has_next());
        reader.next().unwrap();
        assert!(reader.has_next());
        reader.next().unwrap();
        assert!(!reader.has_next(), "the third message is incomplete");
        reader.next().unwrap();
        assert!(reader.next().unwrap().is_none());
    }
}
