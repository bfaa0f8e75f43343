use std::{
    collections::VecDeque,
    io::{ErrorKind, Read},
    process::ChildStderr,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Bytes that are kept: the last ones, which usually give the reason of a crash.
const KEPT: usize = 4096;
/// How long to wait for the end of the pipe.
const CLOSING: Duration = Duration::from_millis(500);

/// The last bytes that a worker wrote to stderr. A thread reads them as they come, so that the worker never blocks.
pub struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl StderrTail {
    /// Starts to read `stream`.
    pub fn follow(mut stream: ChildStderr) -> Self {
        let bytes = Arc::new(Mutex::new(VecDeque::with_capacity(KEPT)));
        let shared = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 1024];
            loop {
                match stream.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(count) => keep(&shared, &chunk[..count]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Self { bytes, reader }
    }

    /// The last line that is not empty, to be read after the worker died; `None` if there is no such line.
    pub fn last_line(self) -> Option<String> {
        // a process that the worker left behind may keep the pipe open forever
        let begun = Instant::now();
        while !self.reader.is_finished() && begun.elapsed() < CLOSING {
            thread::sleep(Duration::from_millis(1));
        }
        let bytes: Vec<u8> =
            self.bytes.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }
}

fn keep(tail: &Mutex<VecDeque<u8>>, chunk: &[u8]) {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    let excess = (tail.len() + chunk.len()).saturating_sub(KEPT).min(tail.len());
    tail.drain(..excess);
    tail.extend(chunk);
}
