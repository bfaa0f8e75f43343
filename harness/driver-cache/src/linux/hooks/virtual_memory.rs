//! What stands in for the driver's functions of virtual memory.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    ffi::{c_int, c_void},
    slice,
};

use super::super::{
    driver_api::{
        MemAddressFree, MemAddressReserve, MemCreate, MemMap, MemRelease, MemRetain, MemSetAccess, MemUnmap,
        checked,
    },
    hook::{Function, answer},
};
use crate::{
    blocks::Address,
    virtual_memory::{Access, Handle, Mapping, Properties, RANGES, Range},
};

pub static MEM_ADDRESS_RESERVE: Function =
    Function::beyond_attributes(mem_address_reserve as MemAddressReserve as *mut c_void);
pub static MEM_ADDRESS_FREE: Function =
    Function::beyond_attributes(mem_address_free as MemAddressFree as *mut c_void);
pub static MEM_CREATE: Function = Function::beyond_attributes(mem_create as MemCreate as *mut c_void);
pub static MEM_RETAIN: Function = Function::beyond_attributes(mem_retain as MemRetain as *mut c_void);
pub static MEM_RELEASE: Function = Function::beyond_attributes(mem_release as MemRelease as *mut c_void);
pub static MEM_MAP: Function = Function::beyond_attributes(mem_map as MemMap as *mut c_void);
pub static MEM_SET_ACCESS: Function =
    Function::beyond_attributes(mem_set_access as MemSetAccess as *mut c_void);
pub static MEM_UNMAP: Function = Function::beyond_attributes(mem_unmap as MemUnmap as *mut c_void);

/// `cuMemAddressReserve`; addresses at a place that the caller wishes are the driver's.
unsafe extern "C" fn mem_address_reserve(
    address: *mut u64,
    bytes: usize,
    alignment: usize,
    wish: u64,
    flags: u64,
) -> c_int {
    answer(|driver| {
        if address.is_null() || wish != 0 || flags != 0 {
            // SAFETY: these are the caller's arguments.
            return checked(unsafe { (driver.mem_address_reserve)(address, bytes, alignment, wish, flags) });
        }
        let Address(found) = RANGES.reserve(bytes as u64, alignment as u64, driver)?;
        // SAFETY: the caller gives a place for the address, as to the driver.
        unsafe { address.write(found) };
        Ok(())
    })
}

unsafe extern "C" fn mem_address_free(address: u64, bytes: usize) -> c_int {
    answer(|driver| RANGES.free(range(address, bytes), driver))
}

unsafe extern "C" fn mem_create(
    handle: *mut u64,
    bytes: usize,
    properties: *const Properties,
    flags: u64,
) -> c_int {
    answer(|driver| {
        if handle.is_null() || properties.is_null() || flags != 0 {
            // SAFETY: these are the caller's arguments.
            return checked(unsafe { (driver.mem_create)(handle, bytes, properties, flags) });
        }
        // SAFETY: the caller gives a CUmemAllocationProp, as to the driver; it has 32 bytes, of no alignment here.
        let properties = unsafe { properties.read() };
        let Handle(found) = driver.with_room(|| RANGES.create(bytes as u64, &properties, driver))?;
        // SAFETY: the caller gives a place for the handle, as to the driver.
        unsafe { handle.write(found) };
        Ok(())
    })
}

/// `cuMemRetainAllocationHandle`: memory that has two handles is the driver's.
unsafe extern "C" fn mem_retain(handle: *mut u64, address: *mut c_void) -> c_int {
    answer(|driver| {
        // SAFETY: these are the caller's arguments.
        checked(unsafe { (driver.mem_retain)(handle, address) })?;
        // SAFETY: the driver has just written a handle there.
        RANGES.leave(Handle(unsafe { handle.read() }));
        Ok(())
    })
}

unsafe extern "C" fn mem_release(handle: u64) -> c_int {
    answer(|driver| RANGES.release(Handle(handle), driver))
}

unsafe extern "C" fn mem_map(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) -> c_int {
    let mapping =
        Mapping { range: range(address, bytes), offset: offset as u64, handle: Handle(handle), flags };
    answer(|driver| RANGES.map(&mapping, driver))
}

unsafe extern "C" fn mem_set_access(
    address: u64,
    bytes: usize,
    accesses: *const Access,
    count: usize,
) -> c_int {
    answer(|driver| {
        if accesses.is_null() {
            // SAFETY: these are the caller's arguments; the driver refuses them.
            return checked(unsafe { (driver.mem_set_access)(address, bytes, accesses, count) });
        }
        // SAFETY: the caller gives so many CUmemAccessDesc, as to the driver; each has 12 bytes, of no alignment here.
        let accesses = unsafe { slice::from_raw_parts(accesses, count) };
        RANGES.set_access(range(address, bytes), accesses, driver)
    })
}

unsafe extern "C" fn mem_unmap(address: u64, bytes: usize) -> c_int {
    answer(|driver| RANGES.unmap(range(address, bytes), driver))
}

const fn range(address: u64, bytes: usize) -> Range {
    Range { address: Address(address), bytes: bytes as u64 }
}
