use std::{fs, time::Duration};

/// Milliseconds of a tick of the clock in `/proc`; the same on every Linux for x86-64 and Arm.
const TICK_MILLIS: u64 = 10;

/// What Linux reports of a process in `/proc/PID/stat` (`proc_pid_stat(5)`), also of one that has ended, until it is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessStat {
    /// The process id of the parent.
    pub parent: u32,
    /// Minor page faults.
    pub page_faults: u64,
    /// Processor time in user mode.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// Processor time of those of its descendants that have ended and were waited for.
    pub ended_children: Duration,
}

impl ProcessStat {
    /// Of the process with this id, or of this one with `self`; `None` if there is none, or if the system does not report it.
    pub fn read(process: &str) -> Option<Self> {
        Self::of(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// The processor time of the process, without that of others.
    pub fn processor(self) -> Duration {
        self.user + self.system
    }

    fn of(line: &str) -> Option<Self> {
        // the second field is the executable's name in parentheses, which may hold anything
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let time = |field| Some(Duration::from_millis(number(field)?.saturating_mul(TICK_MILLIS)));
        Some(Self {
            parent: u32::try_from(number(4)?).ok()?,
            page_faults: number(10)?,
            user: time(14)?,
            system: time(15)?,
            ended_children: time(16)?.saturating_add(time(17)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_name_may_look_like_fields() {
        let line = "7 (a b) 1 2) S 1 7 7 0 -1 4194560 1500 0 3 0 250 75 20 5 20 0 1 0 100 0 0";
        let stat = ProcessStat::of(line).unwrap();
        assert_eq!((stat.parent, stat.page_faults), (1, 1500));
        let millis = [stat.user, stat.system, stat.ended_children].map(|time| time.as_millis());
        assert_eq!(millis, [2500, 750, 250]);
        assert_eq!(stat.processor(), Duration::from_millis(3250));
        assert_eq!(ProcessStat::of("7 (a"), None);
    }
}
