use twinfer_case::DeviceMemory;

/// One part in this many of a device's memory is left free for what its workers allocate later.
const RESERVE: u64 = 4;

/// The memory of a device and the workers on it, as a variant's workers reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// The report of the last worker that started.
    pub memory: DeviceMemory,
    /// Bytes that a worker takes at most, if workers took all that was taken.
    pub per_worker: u64,
    /// Workers of this variant that are starting.
    pub starting: usize,
    /// Workers of all variants on the device, including those that triage uses.
    pub workers: usize,
}

impl Occupancy {
    /// The report of the last of `workers` workers of any variant, which follows an `earlier` one.
    pub fn measured(memory: DeviceMemory, workers: usize, earlier: Option<Self>) -> Self {
        let average = memory.total.saturating_sub(memory.free) / workers.max(1) as u64;
        let per_worker = average.max(earlier.map_or(0, |earlier| earlier.per_worker));
        Self { memory, per_worker, starting: 0, workers: 0 }
    }

    /// Whether another worker would take memory of the reserve.
    pub const fn is_full(self) -> bool {
        let DeviceMemory { free, total } = self.memory;
        let more = self.per_worker.saturating_mul(self.starting as u64 + 1);
        free.saturating_sub(more) < total / RESERVE
    }
}
