//! What workers may take of a machine's memory, and what one takes, as Linux tells it.

use std::fs;

/// Bytes that can be had without anything being swapped out: of the machine, and of the control group that this runs in.
/// None where the system does not tell.
pub fn available() -> Option<u64> {
    let machine = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    Some(of_group().map_or(machine, |group| group.min(machine)))
}

/// Bytes that a process holds of its own: not those of libraries, which it shares with others of its kind.
pub fn own(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    Some(field(&status, "RssAnon:")? + field(&status, "RssShmem:").unwrap_or(0))
}

/// What the limit of the control group leaves; none where there is no limit.
fn of_group() -> Option<u64> {
    let read = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let taken: u64 = read("memory.current")?.trim().parse().ok()?;
    // the cache of files is given back where memory is short
    let cache =
        read("memory.stat")?.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse().ok());
    Some(limit.saturating_sub(taken).saturating_add(cache.unwrap_or(0)))
}

/// A line such as `MemAvailable:   23456 kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_kilobytes() {
        let text = "MemTotal:       24586144 kB\nMemAvailable:   12 kB\nRssAnon:\t     7 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(12 << 10));
        assert_eq!(field(text, "RssAnon:"), Some(7 << 10));
        assert_eq!(field(text, "RssShmem:"), None);
    }

    #[test]
    fn this_process_takes_some_of_what_is_there() {
        let before = own(std::process::id()).unwrap();
        let held = std::hint::black_box(vec![1_u8; 32 << 20]);
        assert!(own(std::process::id()).unwrap() >= before + (held.len() as u64) / 2);
        assert!(available().unwrap() > 0);
    }
}
