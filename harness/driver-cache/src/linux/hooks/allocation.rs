//! What stands in for the driver's functions that allocate and free memory, and tell how much is free.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    ffi::{c_int, c_uint, c_void},
    ptr,
};

use super::super::{
    driver_api::{
        MemAlloc, MemAllocAsync, MemFree, MemFreeAsync, MemFreeHost, MemGetInfo, MemHostAlloc, checked,
    },
    hook::{Function, answer},
};
use crate::{
    blocks::{Address, MEMORY, Space},
    clock::Moment,
    free_memory::FREE_MEMORY,
};

pub static MEM_ALLOC: Function = Function::beyond_attributes(mem_alloc as MemAlloc as *mut c_void);
pub static MEM_FREE: Function = Function::beyond_attributes(mem_free as MemFree as *mut c_void);
pub static MEM_ALLOC_ASYNC: Function =
    Function::beyond_attributes(mem_alloc_async as MemAllocAsync as *mut c_void);
pub static MEM_FREE_ASYNC: Function =
    Function::beyond_attributes(mem_free_async as MemFreeAsync as *mut c_void);
pub static MEM_HOST_ALLOC: Function =
    Function::beyond_attributes(mem_host_alloc as MemHostAlloc as *mut c_void);
pub static MEM_FREE_HOST: Function = Function::beyond_attributes(mem_free_host as MemFreeHost as *mut c_void);
pub static MEM_GET_INFO: Function = Function::beyond_attributes(mem_get_info as MemGetInfo as *mut c_void);

/// `cuMemAlloc_v2`, from what was freed.
unsafe extern "C" fn mem_alloc(address: *mut u64, bytes: usize) -> c_int {
    answer(|driver| {
        if address.is_null() {
            // SAFETY: these are the caller's arguments; the driver refuses them.
            return checked(unsafe { (driver.mem_alloc)(address, bytes) });
        }
        let Address(found) = driver.with_room(|| MEMORY.allocate(Space::Device, bytes as u64, driver))?;
        // SAFETY: the caller gives a place for the address, as to the driver.
        unsafe { address.write(found) };
        Ok(())
    })
}

/// `cuMemFree_v2`, which keeps it.
unsafe extern "C" fn mem_free(address: u64) -> c_int {
    answer(|driver| MEMORY.free(Space::Device, Address(address), driver))
}

/// `cuMemAllocAsync`, from a pool that keeps what is freed.
unsafe extern "C" fn mem_alloc_async(address: *mut u64, bytes: usize, stream: *mut c_void) -> c_int {
    // SAFETY: these are the caller's arguments.
    answer(|driver| unsafe { driver.allocate_on(address, bytes, stream) })
}

/// `cuMemFreeAsync`, which the driver keeps in its pools.
unsafe extern "C" fn mem_free_async(address: u64, stream: *mut c_void) -> c_int {
    answer(|driver| {
        MEMORY.release(Address(address))?;
        // SAFETY: these are the caller's arguments.
        checked(unsafe { (driver.mem_free_async)(address, stream) })
    })
}

/// `cuMemHostAlloc`, from what was freed.
unsafe extern "C" fn mem_host_alloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int {
    answer(|driver| {
        if address.is_null() {
            // SAFETY: these are the caller's arguments; the driver refuses them.
            return checked(unsafe { (driver.mem_host_alloc)(address, bytes, flags) });
        }
        let Address(found) =
            driver.with_room(|| MEMORY.allocate(Space::Host(flags), bytes as u64, driver))?;
        // SAFETY: the caller gives a place for the address, as to the driver.
        unsafe { address.write(ptr::with_exposed_provenance_mut(found as usize)) };
        Ok(())
    })
}

/// `cuMemFreeHost`, which keeps it.
unsafe extern "C" fn mem_free_host(address: *mut c_void) -> c_int {
    answer(|driver| MEMORY.free(Space::Host(0), Address(address.expose_provenance() as u64), driver))
}

/// `cuMemGetInfo_v2`, as it was a moment ago.
unsafe extern "C" fn mem_get_info(free: *mut usize, total: *mut usize) -> c_int {
    answer(|driver| {
        if free.is_null() || total.is_null() {
            // SAFETY: these are the caller's arguments; the driver refuses them.
            return checked(unsafe { (driver.mem_get_info)(free, total) });
        }
        let info = FREE_MEMORY.answer(driver.current()?, Moment::now, || driver.info())?;
        // SAFETY: the caller gives places for both, as to the driver.
        unsafe {
            free.write(info.free);
            total.write(info.total);
        }
        Ok(())
    })
}
