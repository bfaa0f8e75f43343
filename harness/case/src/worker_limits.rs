use serde::{Deserialize, Serialize};

/// The most that a worker may use of the machine, together with all processes that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLimits {
    /// Bytes of memory that its processes do not share with others; `None` for half of the memory of the machine or its control
    /// group.
    pub memory: Option<u64>,
    /// Processes, the worker included.
    pub processes: u64,
    /// Bytes of its temporary files, and of any single file that it writes.
    pub disk: u64,
}

impl Default for WorkerLimits {
    /// More processes and temporary files than any backend was seen to need.
    fn default() -> Self {
        Self { memory: None, processes: 256, disk: 16 << 30 }
    }
}
