//! The hooks for blocks of device memory and pinned host memory.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    ffi::{c_int, c_uint, c_void},
    ptr,
};

use crate::{
    driver::{Address, Space},
    linux::{
        driver_api::{
            MemAlloc, MemAllocHost, MemFree, MemFreeHost, MemGetAddressRange, MemHostAlloc, checked,
        },
        hook::{Hook, with_driver_api, with_poison},
    },
    poison::{GUARDED_BLOCKS, POOL_BLOCKS},
};

pub static MEM_ALLOC: Hook = Hook::for_memory_and_events(mem_alloc as MemAlloc as *mut c_void);
pub static MEM_FREE: Hook = Hook::for_memory_and_events(mem_free as MemFree as *mut c_void);
pub static MEM_HOST_ALLOC: Hook = Hook::for_memory_and_events(mem_host_alloc as MemHostAlloc as *mut c_void);
pub static MEM_ALLOC_HOST: Hook = Hook::for_memory_and_events(mem_alloc_host as MemAllocHost as *mut c_void);
pub static MEM_FREE_HOST: Hook = Hook::for_memory_and_events(mem_free_host as MemFreeHost as *mut c_void);
pub static MEM_GET_ADDRESS_RANGE: Hook =
    Hook::for_memory_and_events(mem_get_address_range as MemGetAddressRange as *mut c_void);

/// `cuMemAlloc_v2`, with guard bytes behind the block.
///
/// # Safety
///
/// As `cuMemAlloc_v2`: `address` is null or valid for a write of one `CUdeviceptr`.
unsafe extern "C" fn mem_alloc(address: *mut u64, bytes: usize) -> c_int {
    with_poison(|api, pattern| {
        if address.is_null() {
            // SAFETY: the caller's own arguments; the driver refuses a null pointer.
            return checked(unsafe { (api.mem_alloc)(address, bytes) });
        }
        let Address(found) = GUARDED_BLOCKS.allocate(Space::Device, bytes as u64, pattern, api)?;
        // SAFETY: the pointer is not null, so the caller guarantees that one address can be written.
        unsafe { address.write(found) };
        Ok(())
    })
}

/// `cuMemFree_v2`, which fills the block and keeps it for a while.
///
/// # Safety
///
/// As `cuMemFree_v2`. A block of a pool may be passed too.
unsafe extern "C" fn mem_free(address: u64) -> c_int {
    with_poison(|api, pattern| {
        POOL_BLOCKS.remove(Address(address));
        GUARDED_BLOCKS.free(Space::Device, Address(address), pattern, api)
    })
}

/// `cuMemHostAlloc`, with guard bytes behind the block.
///
/// # Safety
///
/// As `cuMemHostAlloc`: `address` is null or valid for a write of one pointer.
unsafe extern "C" fn mem_host_alloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int {
    with_poison(|api, pattern| {
        if address.is_null() {
            // SAFETY: the caller's own arguments; the driver refuses a null pointer.
            return checked(unsafe { (api.mem_host_alloc)(address, bytes, flags) });
        }
        let Address(found) = GUARDED_BLOCKS.allocate(Space::Host(flags), bytes as u64, pattern, api)?;
        // SAFETY: the pointer is not null, so the caller guarantees that one pointer can be written.
        unsafe { address.write(ptr::with_exposed_provenance_mut(found as usize)) };
        Ok(())
    })
}

/// `cuMemAllocHost_v2`: `cuMemHostAlloc` without flags.
///
/// # Safety
///
/// As `cuMemAllocHost_v2`: `address` is null or valid for a write of one pointer.
unsafe extern "C" fn mem_alloc_host(address: *mut *mut c_void, bytes: usize) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { mem_host_alloc(address, bytes, 0) }
}

/// `cuMemFreeHost`, which fills the block and keeps it for a while.
///
/// # Safety
///
/// As `cuMemFreeHost`.
unsafe extern "C" fn mem_free_host(address: *mut c_void) -> c_int {
    let address = Address(address.expose_provenance() as u64);
    with_poison(|api, pattern| GUARDED_BLOCKS.free(Space::Host(0), address, pattern, api))
}

/// `cuMemGetAddressRange_v2`, which reports the requested size of a block, without its guard bytes.
///
/// # Safety
///
/// As `cuMemGetAddressRange_v2`: `base` and `bytes` are each null or valid for a write of one number.
unsafe extern "C" fn mem_get_address_range(base: *mut u64, bytes: *mut usize, address: u64) -> c_int {
    with_driver_api(|api| {
        let mut start = 0;
        // SAFETY: the driver writes to a local variable, and to the caller's pointer if it is not null.
        checked(unsafe { (api.mem_get_address_range)(&raw mut start, bytes, address) })?;
        if !base.is_null() {
            // SAFETY: the pointer is not null, so the caller guarantees that one address can be written.
            unsafe { base.write(start) };
        }
        if let Some(size) = GUARDED_BLOCKS.size(Address(start)).filter(|_| !bytes.is_null()) {
            // SAFETY: the pointer is not null, so the caller guarantees that one size can be written.
            unsafe { bytes.write(size as usize) };
        }
        Ok(())
    })
}
