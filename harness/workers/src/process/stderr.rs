use std::{
    collections::VecDeque,
    io::{self, Read},
    process::ChildStderr,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use console::strip_ansi_codes;

use super::{deadline::Deadline, pipe::Pipe};

/// Bytes that are kept: the last ones, which usually give the reason of a crash.
const KEPT: usize = 4096;
/// Bytes that are read at once.
const CHUNK: usize = 1 << 14;
/// How long to wait for the end of the pipe.
const CLOSING: Duration = Duration::from_millis(500);

/// The last bytes that a worker wrote to stderr. A thread reads them as they come, so that the worker never blocks; it ends
/// when the pipe is closed or this is dropped.
pub struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    /// Passes when nobody wants to read any more.
    deadline: Arc<Deadline>,
    reader: JoinHandle<()>,
}

impl StderrTail {
    /// Starts to read `stream`.
    pub fn follow(stream: ChildStderr) -> io::Result<Self> {
        let deadline = Arc::new(Deadline::after(Duration::MAX));
        let mut pipe = Pipe::new(stream, &deadline)?;
        let bytes = Arc::new(Mutex::new(VecDeque::with_capacity(KEPT)));
        let shared = Arc::clone(&bytes);
        let reader = thread::Builder::new().spawn(move || {
            let mut chunk = [0; CHUNK];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                keep(&shared, &chunk[..count]);
            }
        })?;
        Ok(Self { bytes, deadline, reader })
    }

    /// The last line that is not empty, without colors, to be read after the worker died; `None` if there is no such line. All that was kept goes to the debug log.
    pub fn last_line(self) -> Option<String> {
        // a process that the worker left behind may keep the pipe open forever
        let begun = Instant::now();
        while !self.reader.is_finished() && begun.elapsed() < CLOSING {
            thread::sleep(Duration::from_millis(1));
        }
        let bytes: Vec<u8> =
            self.bytes.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        tracing::debug!(stderr = ?text, "end of what a worker wrote to stderr");
        last_line(&text)
    }
}

/// The last line of `text` that is not empty, without colors.
fn last_line(text: &str) -> Option<String> {
    strip_ansi_codes(text).lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.deadline.set(Duration::ZERO);
    }
}

/// Keeps the last bytes of `tail` and `chunk`.
fn keep(tail: &Mutex<VecDeque<u8>>, chunk: &[u8]) {
    let chunk = &chunk[chunk.len().saturating_sub(KEPT)..];
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    let excess = (tail.len() + chunk.len()).saturating_sub(KEPT);
    tail.drain(..excess);
    tail.extend(chunk);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_line_has_no_colors() {
        let text = "first\n\u{1b}[1;31mlast\u{1b}[0m line\n\u{1b}[0m\n\n";
        assert_eq!(last_line(text).as_deref(), Some("last line"));
        assert_eq!(last_line("\n \u{1b}[0m"), None);
    }

    #[test]
    fn tail_keeps_the_last_bytes() {
        let tail = Mutex::default();
        for chunk in [vec![1; 10], vec![2; KEPT], vec![3; KEPT + 5], vec![4; 7]] {
            keep(&tail, &chunk);
        }
        let tail = tail.into_inner().unwrap();
        assert_eq!(tail.len(), KEPT);
        assert_eq!((tail[0], tail[KEPT - 8], tail[KEPT - 7]), (3, 3, 4));
    }
}
