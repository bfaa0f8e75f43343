use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use crate::driver::Address;

/// The sizes of the blocks of the driver's pools that libraries hold, so that a block can be filled when it is freed.
pub struct PoolBlocks {
    bytes: Mutex<BTreeMap<Address, u64>>,
}

/// The pool blocks of this process.
pub static POOL_BLOCKS: PoolBlocks = PoolBlocks::new();

impl PoolBlocks {
    pub const fn new() -> Self {
        Self { bytes: Mutex::new(BTreeMap::new()) }
    }

    /// Records a block that the driver has just allocated.
    pub fn insert(&self, address: Address, bytes: u64) {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).insert(address, bytes);
    }

    /// Removes a block that is freed and returns its size in bytes; `None` if it is not a pool block.
    pub fn remove(&self, address: Address) -> Option<u64> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).remove(&address)
    }
}
