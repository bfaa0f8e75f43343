//! The hooks for blocks of the driver's pools, which are filled on the stream that allocates and frees them.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::ffi::{c_int, c_void};

use twinfer_case::PoisonPattern;

use crate::{
    driver::{Address, CudaError},
    linux::{
        driver_api::{DriverApi, MemAllocAsync, MemAllocFromPoolAsync, MemFreeAsync, checked},
        hook::{Hook, with_poison},
    },
    poison::{GUARDED_BLOCKS, POOL_BLOCKS},
};

pub static MEM_ALLOC_ASYNC: Hook =
    Hook::for_memory_and_events(mem_alloc_async as MemAllocAsync as *mut c_void);
pub static MEM_ALLOC_FROM_POOL_ASYNC: Hook =
    Hook::for_memory_and_events(mem_alloc_from_pool_async as MemAllocFromPoolAsync as *mut c_void);
pub static MEM_FREE_ASYNC: Hook = Hook::for_memory_and_events(mem_free_async as MemFreeAsync as *mut c_void);

/// `cuMemAllocAsync`; the block is filled on `stream`.
///
/// # Safety
///
/// As `cuMemAllocAsync`: `address` is null or valid for a write of one `CUdeviceptr`, and `stream` is a stream or a handle that
/// the driver refuses.
unsafe extern "C" fn mem_alloc_async(address: *mut u64, bytes: usize, stream: *mut c_void) -> c_int {
    with_poison(|api, pattern| {
        // SAFETY: the caller's own arguments, with room for one byte more.
        let allocate = |bytes| checked(unsafe { (api.mem_alloc_async)(address, bytes, stream) });
        // SAFETY: once the allocation succeeds, the driver has written an address of so many bytes there.
        unsafe { allocate_filled(allocate, (address, bytes, stream), pattern, api) }
    })
}

/// `cuMemAllocFromPoolAsync`; the block is filled on `stream`.
///
/// # Safety
///
/// As [`mem_alloc_async`]; `pool` is a pool or a handle that the driver refuses.
unsafe extern "C" fn mem_alloc_from_pool_async(
    address: *mut u64,
    bytes: usize,
    pool: *mut c_void,
    stream: *mut c_void,
) -> c_int {
    with_poison(|api, pattern| {
        // SAFETY: the caller's own arguments, with room for one byte more.
        let allocate =
            |bytes| checked(unsafe { (api.mem_alloc_from_pool_async)(address, bytes, pool, stream) });
        // SAFETY: once the allocation succeeds, the driver has written an address of so many bytes there.
        unsafe { allocate_filled(allocate, (address, bytes, stream), pattern, api) }
    })
}

/// Allocates an even number of bytes, which the pattern fills, on a stream.
///
/// # Safety
///
/// If `allocate` succeeds, it has written the address of as many bytes as it was called with to `address`, a block that may be used
/// on `stream` from then on.
unsafe fn allocate_filled(
    allocate: impl Fn(usize) -> Result<(), CudaError>,
    (address, bytes, stream): (*mut u64, usize, *mut c_void),
    pattern: PoisonPattern,
    api: &DriverApi,
) -> Result<(), CudaError> {
    let whole = bytes.checked_next_multiple_of(2).unwrap_or(bytes);
    GUARDED_BLOCKS.or_release_freed(api, || allocate(whole))?;
    // SAFETY: the allocation succeeded, so an address was written there.
    let block = Address(unsafe { address.read() });
    // SAFETY: the block has so many bytes for all work submitted to this stream from now on, and nobody has written to them.
    unsafe { api.fill_on(block, whole as u64, pattern, stream) }.inspect_err(|_| {
        // SAFETY: the caller has not received the block yet.
        unsafe { (api.mem_free_async)(block.0, stream) };
    })?;
    POOL_BLOCKS.insert(block, whole as u64);
    Ok(())
}

/// `cuMemFreeAsync`; a block of a pool is filled on `stream` before.
///
/// # Safety
///
/// As `cuMemFreeAsync`. A block of `cuMemAlloc` may be passed too; it returns to the driver unchecked, because work that uses it
/// may still be under way.
unsafe extern "C" fn mem_free_async(address: u64, stream: *mut c_void) -> c_int {
    with_poison(|api, pattern| {
        let block = Address(address);
        GUARDED_BLOCKS.release(block)?;
        if let Some(bytes) = POOL_BLOCKS.remove(block) {
            // SAFETY: the caller frees a block of so many bytes on this stream, so all its other uses come before.
            unsafe { api.fill_on(block, bytes, pattern, stream) }?;
        }
        // SAFETY: the caller's own arguments.
        checked(unsafe { (api.mem_free_async)(address, stream) })
    })
}
