//! The hooks that fill memory with a pattern and put guard bytes behind blocks, in the mode `poison`.

mod block;
mod pool;
mod virtual_memory;

use crate::linux::hook::Hook;

/// Returns the hook for the driver's function that is exported under `symbol`; `None` if it has none.
pub fn hook(symbol: &[u8]) -> Option<&'static Hook> {
    Some(match symbol {
        b"cuMemAlloc_v2" => &block::MEM_ALLOC,
        b"cuMemFree_v2" => &block::MEM_FREE,
        b"cuMemHostAlloc" => &block::MEM_HOST_ALLOC,
        b"cuMemAllocHost_v2" => &block::MEM_ALLOC_HOST,
        b"cuMemFreeHost" => &block::MEM_FREE_HOST,
        b"cuMemGetAddressRange_v2" => &block::MEM_GET_ADDRESS_RANGE,
        b"cuMemAllocAsync" => &pool::MEM_ALLOC_ASYNC,
        b"cuMemAllocFromPoolAsync" => &pool::MEM_ALLOC_FROM_POOL_ASYNC,
        b"cuMemFreeAsync" => &pool::MEM_FREE_ASYNC,
        b"cuMemCreate" => &virtual_memory::MEM_CREATE,
        b"cuMemRetainAllocationHandle" => &virtual_memory::MEM_RETAIN,
        b"cuMemRelease" => &virtual_memory::MEM_RELEASE,
        b"cuMemMap" => &virtual_memory::MEM_MAP,
        b"cuMemSetAccess" => &virtual_memory::MEM_SET_ACCESS,
        b"cuMemUnmap" => &virtual_memory::MEM_UNMAP,
        _ => return None,
    })
}
