use std::{os::unix::process::parent_id, thread, time::Duration};

use rustix::process::{Signal, getpid, kill_process};

/// How often a worker looks whether its parent is still there.
const INTERVAL: Duration = Duration::from_secs(1);

/// Ends this process once its parent is gone, whatever a library is doing meanwhile.
///
/// The kernel's own parent-death signal is tied to the thread that spawned the worker, which may end earlier.
pub fn end_with_parent() {
    let parent = parent_id();
    thread::spawn(move || {
        loop {
            thread::sleep(INTERVAL);
            if parent_id() != parent {
                // without handlers, which a hung library may never return from, and without a core dump
                let _ = kill_process(getpid(), Signal::KILL);
            }
        }
    });
}
