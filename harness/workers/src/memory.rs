//! How much memory is available to workers, and how much one process uses, as Linux reports it.

mod control_group;

use std::fs;

use self::control_group::ControlGroup;

/// Bytes that can be allocated without swapping: the smaller of what the machine and this process's control group have left.
/// `None` if the system does not report it.
pub fn available() -> Option<u64> {
    let machine = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    Some(ControlGroup::of_this_process().map_or(machine, |group| group.available().min(machine)))
}

/// Bytes of memory that this process and its children may use at all: of the machine or of its control group. `None` if the
/// system does not report it.
pub fn total() -> Option<u64> {
    let machine = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    Some(ControlGroup::of_this_process().map_or(machine, |group| group.limit.min(machine)))
}

/// Bytes of memory that a process does not share with others, as it does the code of libraries. `None` if the system does
/// not report it.
pub fn private_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(field(&status, "RssAnon:")? + field(&status, "RssShmem:").unwrap_or(0))
}

/// The value in bytes of a line such as `MemAvailable:   23456 kB`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_kilobytes() {
        let text = "MemTotal:       24586144 kB\nMemAvailable:   12 kB\nRssAnon:\t     7 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(12 << 10));
        assert_eq!(field(text, "RssAnon:"), Some(7 << 10));
        assert_eq!(field(text, "RssShmem:"), None);
    }

    #[test]
    fn allocation_shows_in_this_process() {
        let before = private_bytes(std::process::id()).unwrap();
        let held = std::hint::black_box(vec![1_u8; 32 << 20]);
        assert!(private_bytes(std::process::id()).unwrap() >= before + (held.len() as u64) / 2);
        assert!(available().unwrap() > 0);
    }
}
