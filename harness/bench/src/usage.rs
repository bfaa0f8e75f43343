use std::{fs, process, time::Duration};

use serde::{Deserialize, Serialize};
use twinfer_workers::ProcessStat;

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
        let own = ProcessStat::read("self").unwrap_or_default();
        let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let stats = processes.filter_map(|entry| ProcessStat::read(entry.file_name().to_str()?));
        let children = stats.filter(|stat| stat.parent == process::id());
        let alive: Duration = children.map(ProcessStat::processor).sum();
        let workers = own.ended_children + alive;
        Self { supervisor: own.processor().as_secs_f64(), workers: workers.as_secs_f64() }
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

impl Usage {
    /// The usage of this process.
    pub fn now() -> Self {
        let ProcessStat { user, system, page_faults, .. } = ProcessStat::read("self").unwrap_or_default();
        Self { user: user.as_secs_f64(), system: system.as_secs_f64(), page_faults }
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

#[cfg(test)]
mod tests {
    use super::{Usage, processor_seconds};

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
