/// The most bytes of unused memory that a process keeps of each kind: blocks, virtual ranges, and the pool of a device.
pub const MAX_IDLE_BYTES: u64 = 256 << 20;
