//! The hooks that allocate and free blocks of memory, and report how much is free.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    ffi::{c_int, c_uint, c_void},
    ptr,
};

use crate::{
    blocks::BLOCK_CACHE,
    clock::Timestamp,
    driver::{Address, ContextDriver, Space},
    free_memory::FREE_MEMORY,
    linux::{
        driver_api::{
            MemAlloc, MemAllocAsync, MemFree, MemFreeAsync, MemFreeHost, MemGetInfo, MemHostAlloc, checked,
        },
        hook::{Hook, with_driver_api},
    },
};

pub static MEM_ALLOC: Hook = Hook::for_memory_and_events(mem_alloc as MemAlloc as *mut c_void);
pub static MEM_FREE: Hook = Hook::for_memory_and_events(mem_free as MemFree as *mut c_void);
pub static MEM_ALLOC_ASYNC: Hook =
    Hook::for_memory_and_events(mem_alloc_async as MemAllocAsync as *mut c_void);
pub static MEM_FREE_ASYNC: Hook = Hook::for_memory_and_events(mem_free_async as MemFreeAsync as *mut c_void);
pub static MEM_HOST_ALLOC: Hook = Hook::for_memory_and_events(mem_host_alloc as MemHostAlloc as *mut c_void);
pub static MEM_FREE_HOST: Hook = Hook::for_memory_and_events(mem_free_host as MemFreeHost as *mut c_void);
pub static MEM_GET_INFO: Hook = Hook::for_memory_and_events(mem_get_info as MemGetInfo as *mut c_void);

/// `cuMemAlloc_v2`, from idle blocks.
///
/// # Safety
///
/// As `cuMemAlloc_v2`: `address` is null or valid for a write of one `CUdeviceptr`.
unsafe extern "C" fn mem_alloc(address: *mut u64, bytes: usize) -> c_int {
    with_driver_api(|api| {
        if address.is_null() {
            // SAFETY: the caller's own arguments; the driver refuses a null pointer.
            return checked(unsafe { (api.mem_alloc)(address, bytes) });
        }
        let Address(found) =
            api.or_release_idle(|| BLOCK_CACHE.allocate(Space::Device, bytes as u64, api))?;
        // SAFETY: the pointer is not null, so the caller guarantees that one address can be written.
        unsafe { address.write(found) };
        Ok(())
    })
}

/// `cuMemFree_v2`, which keeps the block.
///
/// # Safety
///
/// As `cuMemFree_v2`: once it returns, the caller neither uses the block nor submits work that does. Work submitted before is
/// waited for.
unsafe extern "C" fn mem_free(address: u64) -> c_int {
    with_driver_api(|api| BLOCK_CACHE.free(Space::Device, Address(address), api))
}

/// `cuMemAllocAsync`, from a pool that keeps what is freed; the block is cleared on `stream`.
///
/// # Safety
///
/// As `cuMemAllocAsync`: `address` is null or valid for a write of one `CUdeviceptr`, and `stream` is a stream or a handle that
/// the driver refuses.
unsafe extern "C" fn mem_alloc_async(address: *mut u64, bytes: usize, stream: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    with_driver_api(|api| unsafe { api.allocate_on(address, bytes, stream) })
}

/// `cuMemFreeAsync`: the driver keeps the block in its pool.
///
/// # Safety
///
/// As `cuMemFreeAsync`. A block of `cuMemAlloc` may be passed too; the block cache forgets it.
unsafe extern "C" fn mem_free_async(address: u64, stream: *mut c_void) -> c_int {
    with_driver_api(|api| {
        BLOCK_CACHE.forget(Address(address))?;
        // SAFETY: the caller's own arguments.
        checked(unsafe { (api.mem_free_async)(address, stream) })
    })
}

/// `cuMemHostAlloc`, from idle blocks of the same flags.
///
/// # Safety
///
/// As `cuMemHostAlloc`: `address` is null or valid for a write of one pointer.
unsafe extern "C" fn mem_host_alloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int {
    with_driver_api(|api| {
        if address.is_null() {
            // SAFETY: the caller's own arguments; the driver refuses a null pointer.
            return checked(unsafe { (api.mem_host_alloc)(address, bytes, flags) });
        }
        let Address(found) =
            api.or_release_idle(|| BLOCK_CACHE.allocate(Space::Host(flags), bytes as u64, api))?;
        // SAFETY: the pointer is not null, so the caller guarantees that one pointer can be written.
        unsafe { address.write(ptr::with_exposed_provenance_mut(found as usize)) };
        Ok(())
    })
}

/// `cuMemFreeHost`, which keeps the block.
///
/// # Safety
///
/// As `cuMemFreeHost`: once it returns, neither the caller nor the device uses the block. Work submitted before is waited for.
unsafe extern "C" fn mem_free_host(address: *mut c_void) -> c_int {
    let address = Address(address.expose_provenance() as u64);
    with_driver_api(|api| BLOCK_CACHE.free(Space::Host(0), address, api))
}

/// `cuMemGetInfo_v2`, from an answer that is at most a second old.
///
/// # Safety
///
/// As `cuMemGetInfo_v2`: each pointer is null or valid for a write of one `size_t`.
unsafe extern "C" fn mem_get_info(free: *mut usize, total: *mut usize) -> c_int {
    with_driver_api(|api| {
        if free.is_null() || total.is_null() {
            // SAFETY: the caller's own arguments; the driver refuses a null pointer.
            return checked(unsafe { (api.mem_get_info)(free, total) });
        }
        let info = FREE_MEMORY.get(api.current_context()?, Timestamp::now, || api.memory_info())?;
        // SAFETY: the pointers are not null, so the caller guarantees that a `size_t` can be written to each.
        unsafe {
            free.write(info.free);
            total.write(info.total);
        }
        Ok(())
    })
}
