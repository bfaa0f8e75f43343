//! The hook for `cuDeviceGetAttribute`.
#![expect(unsafe_code, reason = "a function with the CUDA driver's signature is handed out in its place")]

use std::{
    ffi::{c_int, c_void},
    mem::transmute,
};

use crate::{
    attributes::{ATTRIBUTES, AttributeRequest},
    clock::Timestamp,
    driver::CudaError,
    linux::{
        driver_api::{CUDA_SUCCESS, checked},
        hook::Hook,
    },
};

type DeviceGetAttribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;

pub static DEVICE_GET_ATTRIBUTE: Hook = Hook::new(device_get_attribute as DeviceGetAttribute as *mut c_void);

/// `cuDeviceGetAttribute`, answered by the attribute cache.
///
/// # Safety
///
/// `value` is null or valid for a write of one `int`, as the driver requires. The attribute and the device may be any numbers:
/// those outside the cache go to the driver.
unsafe extern "C" fn device_get_attribute(value: *mut c_int, attribute: c_int, device: c_int) -> c_int {
    // SAFETY: the hook was handed out in place of a function of this name, whose address it holds.
    let original = unsafe { transmute::<*mut c_void, DeviceGetAttribute>(DEVICE_GET_ATTRIBUTE.original()) };
    if value.is_null() {
        // SAFETY: the caller's own arguments; the driver refuses a null pointer.
        return unsafe { original(value, attribute, device) };
    }
    let request = AttributeRequest { attribute, device };
    let answer = ATTRIBUTES.get(request, Timestamp::now, || {
        let mut found = 0;
        // SAFETY: the driver writes one `int` to a local variable.
        checked(unsafe { original(&raw mut found, attribute, device) }).map(|()| found)
    });
    match answer {
        Ok(found) => {
            // SAFETY: the pointer is not null, so the caller guarantees that one `int` can be written.
            unsafe { value.write(found) };
            CUDA_SUCCESS
        }
        Err(CudaError(code)) => code,
    }
}
