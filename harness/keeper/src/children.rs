use std::fs;

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, kill_process, wait},
};

use crate::process_table::ProcessTable;

/// The oldest child of `parent`; `None` if it has none.
pub fn first_child(parent: Pid) -> Option<Pid> {
    children(parent).into_iter().next()
}

/// The children of `parent`, oldest first.
pub fn children(parent: Pid) -> Vec<Pid> {
    // a kernel may lack this list
    listed_children(parent).unwrap_or_else(|| ProcessTable::read().children(parent))
}

/// The children as the kernel lists them for each thread; `None` if it does not.
fn listed_children(parent: Pid) -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{parent}/task")).ok()?.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).ok()?;
        children.extend(list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    Some(children)
}

/// Kills the children of this process, which is `own`.
pub fn kill_children(own: Pid) {
    for child in children(own) {
        // none of them is waited for meanwhile, so the number is still the child's
        let _ = kill_process(child, Signal::KILL);
    }
}

/// A child that ended, and its exit code as shells report it.
pub struct Ended {
    pub pid: Pid,
    pub code: i32,
}

/// What [`next_ended`] found.
pub enum Children {
    /// One child ended.
    Ended(Ended),
    /// All children are running.
    Running,
    /// There are no children, not even ended ones.
    None,
}

/// Waits for a child of this process that has ended, without blocking.
pub fn next_ended() -> Children {
    match wait(WaitOptions::NOHANG) {
        Ok(Some((pid, status))) => {
            let signal = status.terminating_signal().map(|signal| crate::SIGNAL_EXIT + signal);
            Children::Ended(Ended { pid, code: signal.or(status.exit_status()).unwrap_or(1) })
        }
        Err(Errno::CHILD) => Children::None,
        Ok(None) | Err(_) => Children::Running,
    }
}
