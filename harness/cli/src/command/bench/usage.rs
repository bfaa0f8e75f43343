use std::fs;

use serde::{Deserialize, Serialize};

/// What this process has used of the machine so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Processor seconds of its own.
    pub user: f64,
    /// Processor seconds in the kernel.
    pub system: f64,
    /// Pages that were given to it when it first touched them.
    pub page_faults: u64,
}

/// Clock ticks a second in `/proc`, on every Linux for x86-64 and Arm.
const TICKS: f64 = 100.0;

impl Usage {
    /// From `/proc/self/stat` (`proc_pid_stat(5)`); nothing where there is none.
    pub fn now() -> Self {
        fs::read_to_string("/proc/self/stat").ok().and_then(|line| Self::of(&line)).unwrap_or_default()
    }

    fn of(line: &str) -> Option<Self> {
        // the second field is the executable's name in parentheses, which may hold anything
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            user: number(14)? as f64 / TICKS,
            system: number(15)? as f64 / TICKS,
            page_faults: number(10)?,
        })
    }

    /// What was used since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
            page_faults: self.page_faults.saturating_sub(earlier.page_faults),
        }
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            page_faults: self.page_faults + other.page_faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn the_name_of_the_executable_may_look_like_fields() {
        let line = "7 (a b) 1 2) S 1 7 7 0 -1 4194560 1500 0 3 0 250 75 0 0 20 0 1 0 100 0 0";
        let usage = Usage::of(line).unwrap();
        assert_eq!((usage.user, usage.system, usage.page_faults), (2.5, 0.75, 1500));
    }

    #[test]
    fn a_process_that_works_uses_processor_time_and_pages() {
        let before = Usage::now();
        let mut touched = vec![1_u8; 64 << 20];
        while Usage::now().since(before).user + Usage::now().since(before).system < 0.02 {
            for byte in &mut touched {
                *byte = byte.wrapping_mul(3);
            }
        }
        assert!(Usage::now().since(before).page_faults > 0);
    }
}
