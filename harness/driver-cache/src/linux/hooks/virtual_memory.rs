//! The hooks for virtual memory.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::ffi::{c_int, c_void};

use crate::{
    driver::{Access, Address, AddressRange, Handle, MapRequest, Properties},
    linux::{
        driver_api::{
            MemAddressFree, MemAddressReserve, MemCreate, MemMap, MemRelease, MemRetain, MemSetAccess,
            MemUnmap, checked,
        },
        hook::{Hook, with_driver_api},
    },
    virtual_memory::VIRTUAL_MEMORY,
};

pub static MEM_ADDRESS_RESERVE: Hook =
    Hook::for_memory_and_events(mem_address_reserve as MemAddressReserve as *mut c_void);
pub static MEM_ADDRESS_FREE: Hook =
    Hook::for_memory_and_events(mem_address_free as MemAddressFree as *mut c_void);
pub static MEM_CREATE: Hook = Hook::for_memory_and_events(mem_create as MemCreate as *mut c_void);
pub static MEM_RETAIN: Hook = Hook::for_memory_and_events(mem_retain as MemRetain as *mut c_void);
pub static MEM_RELEASE: Hook = Hook::for_memory_and_events(mem_release as MemRelease as *mut c_void);
pub static MEM_MAP: Hook = Hook::for_memory_and_events(mem_map as MemMap as *mut c_void);
pub static MEM_SET_ACCESS: Hook = Hook::for_memory_and_events(mem_set_access as MemSetAccess as *mut c_void);
pub static MEM_UNMAP: Hook = Hook::for_memory_and_events(mem_unmap as MemUnmap as *mut c_void);

/// `cuMemAddressReserve`, from idle ranges. A request for a particular address goes to the driver.
///
/// # Safety
///
/// As `cuMemAddressReserve`: `address` is null or valid for a write of one `CUdeviceptr`.
unsafe extern "C" fn mem_address_reserve(
    address: *mut u64,
    bytes: usize,
    alignment: usize,
    wanted: u64,
    flags: u64,
) -> c_int {
    with_driver_api(|api| {
        if address.is_null() || wanted != 0 || flags != 0 {
            // SAFETY: the caller's own arguments.
            return checked(unsafe { (api.mem_address_reserve)(address, bytes, alignment, wanted, flags) });
        }
        let Address(found) = VIRTUAL_MEMORY.reserve(bytes as u64, alignment as u64, api)?;
        // SAFETY: the pointer is not null, so the caller guarantees that one address can be written.
        unsafe { address.write(found) };
        Ok(())
    })
}

/// `cuMemAddressFree`, which keeps a range that is still mapped in the driver.
///
/// # Safety
///
/// As `cuMemAddressFree`: once it returns, the caller does not use the range.
unsafe extern "C" fn mem_address_free(address: u64, bytes: usize) -> c_int {
    with_driver_api(|api| VIRTUAL_MEMORY.free(AddressRange::at(address, bytes), api))
}

/// `cuMemCreate`, from idle memory.
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
        if handle.is_null() || properties.is_null() || flags != 0 {
            // SAFETY: the caller's own arguments.
            return checked(unsafe { (api.mem_create)(handle, bytes, properties, flags) });
        }
        // SAFETY: the pointer is not null, so the caller guarantees that a structure of 32 bytes can be read.
        let properties = unsafe { properties.read() };
        let Handle(found) = api.or_release_idle(|| VIRTUAL_MEMORY.create(bytes as u64, &properties, api))?;
        // SAFETY: the pointer is not null, so the caller guarantees that one handle can be written.
        unsafe { handle.write(found) };
        Ok(())
    })
}

/// `cuMemRetainAllocationHandle`. Memory with two handles is left to the driver.
///
/// # Safety
///
/// As `cuMemRetainAllocationHandle`: `handle` is null or valid for a write of one handle.
unsafe extern "C" fn mem_retain(handle: *mut u64, address: *mut c_void) -> c_int {
    with_driver_api(|api| {
        // SAFETY: the caller's own arguments.
        unsafe { api.retain(handle, address) }.map(|retained| VIRTUAL_MEMORY.forget(retained))
    })
}

/// `cuMemRelease`, which keeps memory that is still mapped in the driver, cleared.
///
/// # Safety
///
/// As `cuMemRelease`: once it returns, the caller does not use the handle.
unsafe extern "C" fn mem_release(handle: u64) -> c_int {
    with_driver_api(|api| VIRTUAL_MEMORY.release(Handle(handle), api))
}

/// `cuMemMap`, at no cost if the driver still has this very mapping.
///
/// # Safety
///
/// As `cuMemMap`, which takes no pointer. Idle mappings in the way of this one are undone in the driver first.
unsafe extern "C" fn mem_map(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) -> c_int {
    with_driver_api(|api| VIRTUAL_MEMORY.map(&MapRequest::of(address, bytes, offset, handle, flags), api))
}

/// `cuMemSetAccess`, at no cost if the mapping has this access already.
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
    with_driver_api(|api| {
        // SAFETY: the caller's own arguments.
        let Some(accesses) = (unsafe { Access::slice(accesses, count) }) else {
            // SAFETY: the caller's own arguments; the driver refuses a null pointer.
            return checked(unsafe { (api.mem_set_access)(address, bytes, accesses, count) });
        };
        VIRTUAL_MEMORY.set_access(AddressRange::at(address, bytes), accesses, api)
    })
}

/// `cuMemUnmap`, which leaves the mapping in the driver for the next request.
///
/// # Safety
///
/// As `cuMemUnmap`: once it returns, the caller neither uses the range nor submits work that does. Work submitted before is
/// waited for.
unsafe extern "C" fn mem_unmap(address: u64, bytes: usize) -> c_int {
    with_driver_api(|api| VIRTUAL_MEMORY.unmap(AddressRange::at(address, bytes), api))
}
