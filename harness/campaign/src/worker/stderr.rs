use std::{
    collections::VecDeque,
    io::{ErrorKind, Read},
    process::ChildStderr,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

/// How much of what a worker prints is kept: the end, where it says why it died.
const KEPT: usize = 4096;

/// The end of what a worker prints to stderr, read as it comes so that it never blocks the worker.
pub struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl StderrTail {
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
        Self { bytes, reader: Some(reader) }
    }

    /// The last line that is not empty, once the worker is dead.
    pub fn last_line(mut self) -> Option<String> {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
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
