//! The hooks for physical memory, which is filled once it can be accessed for the first time.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::ffi::{c_int, c_void};

use crate::{
    driver::{Access, AddressRange, Handle, MapRequest, PoisonDriver, Properties, Space},
    linux::{
        driver_api::{MemCreate, MemMap, MemRelease, MemRetain, MemSetAccess, MemUnmap, checked},
        hook::{Hook, with_driver_api, with_poison},
    },
    poison::{FRESH_MEMORY, GUARDED_BLOCKS},
};

pub static MEM_CREATE: Hook = Hook::for_memory_and_events(mem_create as MemCreate as *mut c_void);
pub static MEM_RETAIN: Hook = Hook::for_memory_and_events(mem_retain as MemRetain as *mut c_void);
pub static MEM_RELEASE: Hook = Hook::for_memory_and_events(mem_release as MemRelease as *mut c_void);
pub static MEM_MAP: Hook = Hook::for_memory_and_events(mem_map as MemMap as *mut c_void);
pub static MEM_SET_ACCESS: Hook = Hook::for_memory_and_events(mem_set_access as MemSetAccess as *mut c_void);
pub static MEM_UNMAP: Hook = Hook::for_memory_and_events(mem_unmap as MemUnmap as *mut c_void);

/// `cuMemCreate`, which records the memory as fresh.
///
/// # Safety
///
/// As `cuMemCreate`: `handle` is null or valid for a write of one handle, and `properties` is null or points to a
/// `CUmemAllocationProp`. That structure has 32 bytes; [`Properties`] has the same size and no alignment.
unsafe extern "C" fn mem_create(
    handle: *mut u64,
    bytes: usize,
    properties: *const Properties,
    flags: u64,
) -> c_int {
    with_driver_api(|api| {
        // SAFETY: the caller's own arguments.
        let create = || checked(unsafe { (api.mem_create)(handle, bytes, properties, flags) });
        GUARDED_BLOCKS.or_release_freed(api, create)?;
        // SAFETY: the driver succeeded, so it has written a handle and read the properties.
        let (created, properties) = unsafe { (handle.read(), properties.read()) };
        FRESH_MEMORY.insert(Handle(created), bytes as u64, properties);
        Ok(())
    })
}

/// `cuMemRetainAllocationHandle`. Memory with two handles is left as it is.
///
/// # Safety
///
/// As `cuMemRetainAllocationHandle`: `handle` is null or valid for a write of one handle.
unsafe extern "C" fn mem_retain(handle: *mut u64, address: *mut c_void) -> c_int {
    with_driver_api(|api| {
        // SAFETY: the caller's own arguments.
        unsafe { api.retain(handle, address) }.map(|retained| FRESH_MEMORY.forget(retained))
    })
}

/// `cuMemRelease`, after which the memory cannot be mapped again.
///
/// # Safety
///
/// As `cuMemRelease`, which takes no pointer.
unsafe extern "C" fn mem_release(handle: u64) -> c_int {
    with_driver_api(|api| {
        FRESH_MEMORY.release(Handle(handle));
        // SAFETY: the caller's own argument.
        checked(unsafe { (api.mem_release)(handle) })
    })
}

/// `cuMemMap`, which records where fresh memory is mapped.
///
/// # Safety
///
/// As `cuMemMap`, which takes no pointer.
unsafe extern "C" fn mem_map(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) -> c_int {
    with_driver_api(|api| {
        // SAFETY: the caller's own arguments.
        checked(unsafe { (api.mem_map)(address, bytes, offset, handle, flags) })?;
        FRESH_MEMORY.map(&MapRequest::of(address, bytes, offset, handle, flags));
        Ok(())
    })
}

/// `cuMemSetAccess`, after which fresh memory is filled.
///
/// # Safety
///
/// As `cuMemSetAccess`: `accesses` is null or points to `count` structures `CUmemAccessDesc`. Each has 12 bytes; [`Access`] has
/// the same size and no alignment.
unsafe extern "C" fn mem_set_access(
    address: u64,
    bytes: usize,
    accesses: *const Access,
    count: usize,
) -> c_int {
    with_poison(|api, pattern| {
        // SAFETY: the caller's own arguments.
        checked(unsafe { (api.mem_set_access)(address, bytes, accesses, count) })?;
        // SAFETY: the caller's own arguments.
        let Some(accesses) = (unsafe { Access::slice(accesses, count) }) else { return Ok(()) };
        for range in FRESH_MEMORY.take_accessible(AddressRange::at(address, bytes), accesses) {
            // without a current context, in which the call works too, the memory stays as it is
            let _ = api.fill(Space::Device, range, pattern);
        }
        Ok(())
    })
}

/// `cuMemUnmap`.
///
/// # Safety
///
/// As `cuMemUnmap`, which takes no pointer.
unsafe extern "C" fn mem_unmap(address: u64, bytes: usize) -> c_int {
    with_driver_api(|api| {
        FRESH_MEMORY.unmap(AddressRange::at(address, bytes));
        // SAFETY: the caller's own arguments.
        checked(unsafe { (api.mem_unmap)(address, bytes) })
    })
}
