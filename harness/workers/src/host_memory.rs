use std::sync::{Mutex, MutexGuard, PoisonError};

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
    /// Bytes that starting workers will need.
    promised: Mutex<u64>,
}

/// The memory that a starting worker will need. It counts until this is dropped, also what the worker has allocated by then.
pub struct MemoryPromise<'a> {
    memory: &'a HostMemory,
    bytes: u64,
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
        let is_enough = |available| available >= self.free + *promised + bytes;
        if bytes >= SMALL && !(self.available)().is_none_or(is_enough) {
            return None;
        }
        *promised += bytes;
        Some(MemoryPromise { memory: self, bytes })
    }

    /// Promises `bytes`, whether or not that much memory is available: another program may hold it.
    pub fn promise(&self, bytes: u64) -> MemoryPromise<'_> {
        *self.promised() += bytes;
        MemoryPromise { memory: self, bytes }
    }

    fn promised(&self) -> MutexGuard<'_, u64> {
        self.promised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryPromise<'_> {
    fn drop(&mut self) {
        *self.memory.promised() -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

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
