use std::{fs, process};

use serde::{Deserialize, Serialize};

/// Processor time of a campaign, or of its part after an earlier reading, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spent {
    /// Processor time of this process.
    pub supervisor: f64,
    /// Processor time of the processes that it started, ended or not.
    pub workers: f64,
}

impl Spent {
    /// The processor time used so far.
    pub fn now() -> Self {
        let own = Stat::read("self");
        let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let stats = processes.filter_map(|entry| Stat::read(entry.file_name().to_str()?));
        let me = u64::from(process::id());
        let alive: f64 = stats.filter(|stat| stat.parent == me).map(|stat| stat.usage.processor()).sum();
        let own = own.unwrap_or_default();
        Self { supervisor: own.usage.processor(), workers: own.ended_children + alive }
    }

    /// The processor time used since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { supervisor: self.supervisor - earlier.supervisor, workers: self.workers - earlier.workers }
    }

    /// The processor time of supervisor and workers together.
    pub fn both(self) -> f64 {
        self.supervisor + self.workers
    }
}

/// The resources that a process has used so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Processor seconds in user mode.
    pub user: f64,
    /// Processor seconds in the kernel.
    pub system: f64,
    /// Minor page faults.
    pub page_faults: u64,
}

/// Clock ticks per second in `/proc`; the same on every Linux for x86-64 and Arm.
const TICKS: f64 = 100.0;

impl Usage {
    /// The usage of this process.
    pub fn now() -> Self {
        Stat::read("self").unwrap_or_default().usage
    }

    /// Processor seconds in user mode and in the kernel.
    pub fn processor(self) -> f64 {
        self.user + self.system
    }

    /// The resources used since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
            page_faults: self.page_faults.saturating_sub(earlier.page_faults),
        }
    }

    /// The sum of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            page_faults: self.page_faults + other.page_faults,
        }
    }
}

/// What all threads of a process have used of the processor, to the nanosecond (`/proc/PID/task/TID/schedstat`, which
/// Documentation/scheduler/sched-stats.rst of Linux describes): of those that are alive. `None` if the system does not report it.
pub fn processor_seconds(process: u32) -> Option<f64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let nanoseconds = threads.filter_map(Result::ok).map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    nanoseconds.sum::<Option<u64>>().map(|sum| sum as f64 * 1e-9)
}

/// The fields of `/proc/PID/stat` (`proc_pid_stat(5)`) that a benchmark needs.
#[derive(Default)]
struct Stat {
    parent: u64,
    usage: Usage,
    /// Processor seconds of children that have ended.
    ended_children: f64,
}

impl Stat {
    fn read(process: &str) -> Option<Self> {
        Self::of(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    fn of(line: &str) -> Option<Self> {
        // the second field is the executable's name in parentheses, which may hold anything
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let seconds = |field| Some(number(field)? as f64 / TICKS);
        Some(Self {
            parent: number(4)?,
            usage: Usage { user: seconds(14)?, system: seconds(15)?, page_faults: number(10)? },
            ended_children: seconds(16)? + seconds(17)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Stat, Usage, processor_seconds};

    #[test]
    fn executable_name_may_look_like_fields() {
        let line = "7 (a b) 1 2) S 1 7 7 0 -1 4194560 1500 0 3 0 250 75 0 0 20 0 1 0 100 0 0";
        let stat = Stat::of(line).unwrap();
        let usage = stat.usage;
        assert_eq!(stat.parent, 1);
        assert_eq!((usage.user, usage.system, usage.page_faults), (2.5, 0.75, 1500));
    }

    #[test]
    fn working_process_uses_processor_time_and_pages() {
        let before = Usage::now();
        let mut touched = vec![1_u8; 64 << 20];
        while Usage::now().since(before).user + Usage::now().since(before).system < 0.02 {
            for byte in &mut touched {
                *byte = byte.wrapping_mul(3);
            }
        }
        assert!(Usage::now().since(before).page_faults > 0);
        assert!(processor_seconds(std::process::id()).unwrap() >= 0.02);
        assert_eq!(processor_seconds(u32::MAX), None);
    }
}
