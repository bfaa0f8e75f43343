//! A program that is its own worker, and whose libraries print to stdout at any time.

use std::{thread, time::Duration};

use twinfer_worker::become_worker_if_asked;

/// The time before the first line: the worker is ready by then.
const LOADING: Duration = Duration::from_millis(200);
const BETWEEN_LINES: Duration = Duration::from_micros(50);

fn main() {
    thread::spawn(|| {
        thread::sleep(LOADING);
        loop {
            println!("a line that no frame begins with");
            thread::sleep(BETWEEN_LINES);
        }
    });
    become_worker_if_asked();
    eprintln!("this program is a fixture of twinfer-worker's tests: it serves if TWINFER_WORKER is set");
}
