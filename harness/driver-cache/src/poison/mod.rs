//! Poisoned memory: what a library allocates holds a pattern until it is written, and again once it is freed.
//!
//! Blocks of `cuMemAlloc` and pinned host memory have guard bytes behind them ([`GuardedBlocks`](guarded_blocks::GuardedBlocks)). Blocks of the driver's pools are
//! filled on the stream that allocates and frees them, so their sizes are remembered ([`PoolBlocks`](pool_blocks::PoolBlocks)). Physical memory is filled once
//! it can be accessed for the first time ([`FreshMemory`](fresh_memory::FreshMemory)).

mod fresh_memory;
mod guarded_blocks;
mod pool_blocks;

pub use self::{fresh_memory::FRESH_MEMORY, guarded_blocks::GUARDED_BLOCKS, pool_blocks::POOL_BLOCKS};
