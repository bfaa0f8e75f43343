//! Blocks of device memory and pinned host memory: what a library frees serves later allocations.

mod table;

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    driver::{Address, BlockDriver, Context, CudaError, OUT_OF_MEMORY, Space},
    tally::MemoryTally,
};

use self::table::{BlockTable, SizeClass};

/// Keeps the blocks that libraries free and hands them out again.
///
/// Freeing waits for the context, as the driver's own call does. A block that is handed out again is zero. A second release of
/// the same block is refused. A library can still observe that less memory is free, that blocks are larger than requested,
/// and that an access to freed memory does not fail.
pub struct BlockCache {
    table: Mutex<BlockTable>,
    asked: AtomicU64,
    answered_by_driver: AtomicU64,
}

/// The blocks of this process.
pub static BLOCK_CACHE: BlockCache = BlockCache::new();

impl BlockCache {
    pub const fn new() -> Self {
        Self {
            table: Mutex::new(BlockTable::new()),
            asked: AtomicU64::new(0),
            answered_by_driver: AtomicU64::new(0),
        }
    }

    /// Returns the successful allocations so far.
    pub fn tally(&self) -> MemoryTally {
        MemoryTally {
            asked: self.asked.load(Relaxed),
            answered_by_driver: self.answered_by_driver.load(Relaxed),
        }
    }

    /// Allocates an idle block of the request's size class, or else a new block from the driver.
    pub fn allocate(
        &self,
        space: Space,
        bytes: u64,
        driver: &impl BlockDriver,
    ) -> Result<Address, CudaError> {
        let class = driver.context().and_then(|context| SizeClass::of(space, bytes, context));
        let address = match class.and_then(|class| self.reuse(class, driver)) {
            Some(address) => address,
            None => match self.allocate_new(space, bytes, class, driver) {
                // the rounded size may be more than is free
                Err(OUT_OF_MEMORY) if class.is_some() => self.allocate_new(space, bytes, None, driver)?,
                allocated => allocated?,
            },
        };
        self.asked.fetch_add(1, Relaxed);
        Ok(address)
    }

    /// Keeps a block, or else returns it to the driver. A block that exceeds the limit on idle memory replaces all idle blocks
    /// of its context: nothing else ever evicts blocks that are not allocated again.
    pub fn free(&self, space: Space, address: Address, driver: &impl BlockDriver) -> Result<(), CudaError> {
        let class = self.table().reclaim(address)?;
        match class {
            Some(class) if class.is_freed_as(space) && self.keep(address, class, driver) => Ok(()),
            _ => driver.free(space, address),
        }
    }

    /// Makes a block idle once its context has finished all work, and returns whether it could.
    fn keep(&self, address: Address, class: SizeClass, driver: &impl BlockDriver) -> bool {
        let is_unused = driver.context() == Some(class.context()) && driver.synchronize().is_ok();
        if is_unused && !self.table().has_room(class) {
            self.release_idle(class.context(), driver);
        }
        is_unused && self.table().keep(address, class)
    }

    /// Returns all idle blocks of `context` to the driver.
    pub fn release_idle(&self, context: Context, driver: &impl BlockDriver) {
        let idle = self.table().take_idle(context);
        for (class, address) in idle {
            if driver.free(class.space(), address).is_err() {
                self.table().keep(address, class);
            }
        }
    }

    /// Forgets a block that returns to the driver in another way; an error if the block is not in use.
    pub fn forget(&self, address: Address) -> Result<(), CudaError> {
        self.table().reclaim(address).map(drop)
    }

    /// Hands out an idle block of `class`, cleared; `None` if there is none or it cannot be cleared.
    fn reuse(&self, class: SizeClass, driver: &impl BlockDriver) -> Option<Address> {
        let address = self.table().take(class)?;
        if driver.clear(class.space(), address, class.bytes()).is_err() {
            let _ = driver.free(class.space(), address);
            return None;
        }
        self.table().lend(address, class);
        Some(address)
    }

    /// Allocates a block of `class` from the driver. Without a class the block has exactly `bytes` bytes and is not kept
    /// when it is freed.
    fn allocate_new(
        &self,
        space: Space,
        bytes: u64,
        class: Option<SizeClass>,
        driver: &impl BlockDriver,
    ) -> Result<Address, CudaError> {
        let address = driver.allocate(space, class.map_or(bytes, SizeClass::bytes))?;
        self.answered_by_driver.fetch_add(1, Relaxed);
        self.table().replace(address, class);
        Ok(address)
    }

    fn table(&self) -> MutexGuard<'_, BlockTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
