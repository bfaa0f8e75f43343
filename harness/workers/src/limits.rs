//! How much of the machine a worker may use, together with all processes that it started.

use std::fmt;

use twinfer_case::WorkerLimits;

use crate::memory;

/// The most that a worker may use of each resource on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory that its processes do not share with others.
    pub memory: u64,
    /// Processes, the worker included.
    pub processes: u64,
    /// Bytes of its temporary files, and of any single file that it writes.
    pub disk: u64,
}

/// What a worker and all processes that it started use at one moment, in the units of [`Limits`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub memory: u64,
    pub processes: u64,
    pub disk: u64,
}

/// Something of which a machine has only so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Memory, in bytes.
    Memory,
    /// Processes.
    Processes,
    /// Temporary files, in bytes.
    Disk,
}

/// A limit that a worker exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The resource.
    pub resource: Resource,
    /// How much of it the worker used.
    pub used: u64,
    /// The most that it may use.
    pub limit: u64,
    /// How much of it the worker used when it was ready, before its first case.
    pub at_start: u64,
}

impl Limits {
    /// What `limits` allow on this machine.
    pub fn on_this_machine(limits: WorkerLimits) -> Self {
        let WorkerLimits { memory, processes, disk } = limits;
        let memory = memory.or_else(|| Some(memory::total()? / 2)).unwrap_or(u64::MAX);
        Self { memory, processes, disk }
    }

    /// The first limit that `now` exceeds, for a worker that used `at_start` when it was ready; `None` if it is within all.
    pub fn exceeded_by(&self, now: &Usage, at_start: &Usage) -> Option<Excess> {
        let excess = |resource, limit, used, at_start| {
            (used > limit).then_some(Excess { resource, used, limit, at_start })
        };
        excess(Resource::Memory, self.memory, now.memory, at_start.memory)
            .or_else(|| excess(Resource::Processes, self.processes, now.processes, at_start.processes))
            .or_else(|| excess(Resource::Disk, self.disk, now.disk, at_start.disk))
    }
}

impl Excess {
    /// Whether the limit is to blame: it leaves the worker less for its cases than the worker needed to start.
    pub const fn is_of_limit(&self) -> bool {
        self.at_start > self.limit / 2
    }
}

impl Resource {
    /// The option of the command line that sets its limit.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Memory => "--worker-memory",
            Self::Processes => "--worker-processes",
            Self::Disk => "--worker-disk",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Disk => "disk",
        })
    }
}

/// Without what was used, which differs from run to run.
impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, limit, .. } = *self;
        let option = resource.option();
        match resource {
            Resource::Processes => {
                write!(f, "the worker is more than {limit} processes, its limit ({option})")
            }
            Resource::Memory | Resource::Disk => {
                let limit = limit >> 20;
                write!(f, "the worker uses more than {limit} MiB of {resource}, its limit ({option})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { memory: 100, processes: 10, disk: 50 };

    fn exceeded(memory: u64, processes: u64, disk: u64) -> Option<Resource> {
        let now = Usage { memory, processes, disk };
        LIMITS.exceeded_by(&now, &Usage::default()).map(|excess| excess.resource)
    }

    #[test]
    fn limit_is_exceeded_by_more_than_it() {
        assert_eq!(exceeded(100, 10, 50), None);
        assert_eq!(exceeded(101, 10, 50), Some(Resource::Memory));
        assert_eq!(exceeded(100, 11, 50), Some(Resource::Processes));
        assert_eq!(exceeded(100, 10, 51), Some(Resource::Disk));
    }

    #[test]
    fn limit_that_is_half_filled_at_the_start_is_to_blame() {
        let is_of_limit = |memory| {
            let usage = |memory| Usage { memory, ..Usage::default() };
            LIMITS.exceeded_by(&usage(101), &usage(memory)).unwrap().is_of_limit()
        };
        assert!(!is_of_limit(50));
        assert!(is_of_limit(51));
    }
}
