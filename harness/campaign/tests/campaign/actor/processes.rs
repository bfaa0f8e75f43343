//! Processes that an actor starts.

use std::process::Command;

/// A shell that starts another one in a session of its own, which does the same, and ends.
const DAEMON: &str = r#"setsid sh -c "$0" "$0" &"#;

/// Starts a process in a session of its own that inherits the actor's pipes and keeps them open for minutes.
pub fn leave_orphan() {
    run_shell(&["setsid sleep 300 &"]);
}

/// Starts a chain of processes, each in a session of its own, none of which lives for long.
pub fn start_daemons() {
    run_shell(&[DAEMON, DAEMON]);
}

fn run_shell(arguments: &[&str]) {
    assert!(Command::new("sh").arg("-c").args(arguments).status().unwrap().success());
}
