mod table;

use std::sync::{Mutex, MutexGuard, PoisonError};

use twinfer_case::{MemoryKind, OutOfBoundsWrite, PoisonPattern, Stage};

use self::table::{Block, BlockTable, GUARD_BYTES};
use crate::driver::{Address, AddressRange, CudaError, OUT_OF_MEMORY, PoisonDriver, Space};

/// Blocks of device memory and pinned host memory, each filled with a pattern and with guard bytes of the pattern behind it.
///
/// A block that is freed is filled again and kept for a while before the driver receives it, so that a later use of it finds the
/// pattern. Its guard bytes are compared when it is freed and whenever changes are [taken](Self::take_writes).
pub struct GuardedBlocks {
    table: Mutex<BlockTable>,
}

/// The blocks of this process.
pub static GUARDED_BLOCKS: GuardedBlocks = GuardedBlocks::new();

impl GuardedBlocks {
    pub const fn new() -> Self {
        Self { table: Mutex::new(BlockTable::new()) }
    }

    /// Allocates a block with guard bytes from the driver and fills it. Without a current context, and for a size that the driver
    /// refuses, the block is as the driver makes it.
    pub fn allocate(
        &self,
        space: Space,
        bytes: u64,
        pattern: PoisonPattern,
        driver: &impl PoisonDriver,
    ) -> Result<Address, CudaError> {
        let block = driver.context().and_then(|context| Block::of(space, bytes, context));
        let whole = block.map_or(bytes, Block::whole_bytes);
        let address = self.or_release_freed(driver, || driver.allocate(space, whole))?;
        self.table().forget(address);
        if let Some(block) = block {
            driver.fill(space, AddressRange { address, bytes: whole }, pattern).inspect_err(|_| {
                let _ = driver.free(space, address);
            })?;
            self.table().hold(address, block);
        }
        Ok(address)
    }

    /// Compares the guard bytes of a block, fills it and keeps it for a while, or else returns it to the driver.
    pub fn free(
        &self,
        space: Space,
        address: Address,
        pattern: PoisonPattern,
        driver: &impl PoisonDriver,
    ) -> Result<(), CudaError> {
        let held = self.table().reclaim(space, address)?;
        match held {
            Some(block) if self.keep_freed(address, block, pattern, driver) => Ok(()),
            _ => driver.free(space, address),
        }
    }

    /// Keeps a freed block once its context has finished all work, and returns whether it could.
    fn keep_freed(
        &self,
        address: Address,
        block: Block,
        pattern: PoisonPattern,
        driver: &impl PoisonDriver,
    ) -> bool {
        let is_unused = driver.context() == Some(block.context) && driver.synchronize().is_ok();
        if !is_unused {
            return false;
        }
        if let Ok(Some(offset)) = first_change(address, block, pattern, driver) {
            self.table().record_write(block, offset);
        }
        let whole = AddressRange { address, bytes: block.whole_bytes() };
        let can_stay = block.can_stay() && driver.fill(block.space, whole, pattern).is_ok();
        if can_stay {
            let oldest = self.table().keep(address, block);
            return_to_driver(oldest, driver);
        }
        can_stay
    }

    /// Returns the writes behind blocks that were found since the last call, in the order of the blocks' allocations; compares the
    /// guard bytes of all blocks of the current context first.
    pub fn take_writes(
        &self,
        stage: Stage,
        pattern: PoisonPattern,
        driver: &impl PoisonDriver,
    ) -> Vec<OutOfBoundsWrite> {
        // without the lock: the work that is waited for may need it
        let context = driver.context().filter(|_| driver.synchronize().is_ok());
        let mut table = self.table();
        for (address, block) in table.held_in(context) {
            match first_change(address, block, pattern, driver) {
                Ok(None) => {}
                Ok(Some(offset)) => {
                    table.record_write(block, offset);
                    let _ = driver.write(block.space, block.end(address), &block.guard(pattern));
                }
                // its context was reset, so the block is no more
                Err(_) => table.forget(address),
            }
        }
        let write = |(block, offset): (Block, u64)| OutOfBoundsWrite {
            stage,
            memory: match block.space {
                Space::Device => MemoryKind::Device,
                Space::Host(_) => MemoryKind::Host,
            },
            bytes: block.bytes,
            offset,
        };
        table.take_writes().into_iter().map(write).collect()
    }

    /// The requested size in bytes of the block at `address`; `None` if no library holds a block there.
    pub fn size(&self, address: Address) -> Option<u64> {
        self.table().held(address).map(|block| block.bytes)
    }

    /// Forgets a block that returns to the driver in another way; an error if the block is freed already.
    pub fn release(&self, address: Address) -> Result<(), CudaError> {
        self.table().reclaim(Space::Device, address).map(drop)
    }

    /// Runs an allocation; if memory is short, returns all freed blocks to the driver and runs the allocation once more.
    pub fn or_release_freed<T>(
        &self,
        driver: &impl PoisonDriver,
        allocate: impl Fn() -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        match allocate() {
            Err(OUT_OF_MEMORY) => {
                let freed = self.table().take_freed();
                return_to_driver(freed, driver);
                allocate()
            }
            allocated => allocated,
        }
    }

    fn table(&self) -> MutexGuard<'_, BlockTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The offset of the first changed guard byte from the start of the block.
fn first_change(
    address: Address,
    block: Block,
    pattern: PoisonPattern,
    driver: &impl PoisonDriver,
) -> Result<Option<u64>, CudaError> {
    let mut found = [0; GUARD_BYTES];
    driver.read(block.space, block.end(address), &mut found)?;
    let changed = found.iter().zip(block.guard(pattern)).position(|(found, guard)| *found != guard);
    Ok(changed.map(|place| block.bytes + place as u64))
}

/// Has the driver free blocks. It refuses those whose context has ended, and they are gone.
fn return_to_driver(blocks: Vec<(Address, Block)>, driver: &impl PoisonDriver) {
    for (address, block) in blocks {
        let _ = driver.free(block.space, address);
    }
}

#[cfg(test)]
mod tests;
