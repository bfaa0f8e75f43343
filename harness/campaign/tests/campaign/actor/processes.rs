//! Processes that an actor starts.

use std::process::Command;

/// Starts a process in a session of its own that inherits the actor's pipes and keeps them open for minutes.
pub fn leave_orphan() {
    let started = Command::new("sh").args(["-c", "setsid sleep 300 &"]).status();
    assert!(started.unwrap().success());
}
