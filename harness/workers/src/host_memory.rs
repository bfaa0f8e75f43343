use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::memory;

/// One part in this many of the memory stays free, for the files that all processes read. A machine that has to read the code of libraries
/// again and again stands still.
const FREE_SHARE: u64 = 10;

/// Workers that need less start whether or not memory is short.
const SMALL: u64 = 256 << 20;

/// The memory that all workers on this machine share.
pub struct HostMemory {
    /// Bytes that are available now; `None` if the system does not report it.
    available: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Bytes that stay free.
    free: u64,
    promised: Mutex<Vec<Promised>>,
}

/// What a starting worker will need, and the bytes of it that the worker has allocated, which are no longer available.
struct Promised {
    bytes: u64,
    /// Unset before the worker has a process.
    allocated: Arc<Allocated>,
}

type Allocated = OnceLock<Box<dyn Fn() -> u64 + Send + Sync>>;

/// The memory that a starting worker will need, until this is dropped.
pub struct MemoryPromise<'a> {
    memory: &'a HostMemory,
    allocated: Arc<Allocated>,
}

impl HostMemory {
    /// The memory of this machine, or of the control group of this process.
    pub fn of_machine() -> Self {
        Self::new(memory::available, memory::total().unwrap_or(0) / FREE_SHARE)
    }

    fn new(available: impl Fn() -> Option<u64> + Send + Sync + 'static, free: u64) -> Self {
        Self { available: Box::new(available), free, promised: Mutex::default() }
    }

    /// Promises `bytes`; `None` if that much memory is not available.
    pub fn try_promise(&self, bytes: u64) -> Option<MemoryPromise<'_>> {
        let mut promised = self.promised();
        let missing: u64 = promised.iter().map(Promised::missing).sum();
        let is_enough = |available| available >= self.free + missing + bytes;
        if bytes >= SMALL && !(self.available)().is_none_or(is_enough) {
            return None;
        }
        Some(self.add(&mut promised, bytes))
    }

    /// Promises `bytes`, whether or not that much memory is available: another program may hold it.
    pub fn promise(&self, bytes: u64) -> MemoryPromise<'_> {
        self.add(&mut self.promised(), bytes)
    }

    fn add(&self, promised: &mut Vec<Promised>, bytes: u64) -> MemoryPromise<'_> {
        let allocated = Arc::<Allocated>::default();
        promised.push(Promised { bytes, allocated: Arc::clone(&allocated) });
        MemoryPromise { memory: self, allocated }
    }

    fn promised(&self) -> MutexGuard<'_, Vec<Promised>> {
        self.promised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Promised {
    /// Bytes that the worker has yet to allocate.
    fn missing(&self) -> u64 {
        let allocated = self.allocated.get().map_or(0, |allocated| allocated());
        self.bytes.saturating_sub(allocated)
    }
}

impl MemoryPromise<'_> {
    /// The worker now has a process, which has allocated so many bytes whenever it is asked.
    pub fn spawned(&self, allocated: impl Fn() -> u64 + Send + Sync + 'static) {
        let _ = self.allocated.set(Box::new(allocated));
    }
}

impl Drop for MemoryPromise<'_> {
    fn drop(&mut self) {
        self.memory.promised().retain(|promised| !Arc::ptr_eq(&promised.allocated, &self.allocated));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const GIGABYTE: u64 = 1 << 30;

    /// Memory of which so many gigabytes are available and two stay free.
    fn with_available(gigabytes: u64) -> (HostMemory, Arc<AtomicU64>) {
        let available = Arc::new(AtomicU64::new(gigabytes * GIGABYTE));
        let now = Arc::clone(&available);
        (HostMemory::new(move || Some(now.load(Ordering::Relaxed)), 2 * GIGABYTE), available)
    }

    #[test]
    fn memory_is_promised_once_and_some_stays_free() {
        let (memory, _) = with_available(9);
        let first = memory.try_promise(4 * GIGABYTE);
        assert!(first.is_some());
        assert!(memory.try_promise(4 * GIGABYTE).is_none(), "three are left");
        assert!(memory.try_promise(SMALL - 1).is_some());
        drop(first);
        assert!(memory.try_promise(4 * GIGABYTE).is_some());
    }

    #[test]
    fn memory_that_a_starting_worker_has_allocated_counts_once() {
        let (memory, available) = with_available(9);
        let first = memory.try_promise(4 * GIGABYTE).unwrap();
        first.spawned(|| 3 * GIGABYTE);
        available.store(6 * GIGABYTE, Ordering::Relaxed);
        assert!(memory.try_promise(4 * GIGABYTE).is_none(), "two stay free and one is still missing");
        let second = memory.try_promise(3 * GIGABYTE).unwrap();
        second.spawned(|| 5 * GIGABYTE);
        available.store(3 * GIGABYTE, Ordering::Relaxed);
        assert!(memory.try_promise(SMALL).is_none(), "one is still missing");
        drop(first);
        assert!(memory.try_promise(SMALL).is_some(), "more than was promised makes nothing available");
        assert!(memory.try_promise(2 * GIGABYTE).is_none());
    }

    #[test]
    fn worker_starts_although_no_memory_becomes_free() {
        let (memory, available) = with_available(1);
        assert!(memory.try_promise(SMALL).is_none());
        let promise = memory.promise(4 * GIGABYTE);
        available.store(8 * GIGABYTE, Ordering::Relaxed);
        assert!(memory.try_promise(4 * GIGABYTE).is_none(), "two are left");
        drop(promise);
        assert!(memory.try_promise(4 * GIGABYTE).is_some());
        let unknown = HostMemory::new(|| None, GIGABYTE);
        assert!(unknown.try_promise(u64::MAX / 2).is_some());
    }
}
