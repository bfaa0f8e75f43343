use std::{os::unix::process::parent_id, thread, time::Duration};

use rustix::process::{Signal, getpid, kill_process};

/// How often a worker checks whether its parent is alive.
const INTERVAL: Duration = Duration::from_secs(1);

/// Starts a thread that kills this process once its parent has ended, even while a library is busy.
///
/// The kernel's parent-death signal is no substitute: it is sent when the thread that spawned the worker ends, which may be
/// earlier.
pub fn end_with_parent() {
    let parent = parent_id();
    thread::spawn(move || {
        loop {
            thread::sleep(INTERVAL);
            if parent_id() != parent {
                // SIGKILL runs no handlers, in which a hung library may be stuck, and leaves no core dump
                let _ = kill_process(getpid(), Signal::KILL);
            }
        }
    });
}
