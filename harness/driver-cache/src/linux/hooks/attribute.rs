//! What stands in for `cuDeviceGetAttribute`.
#![expect(unsafe_code, reason = "a function with the CUDA driver's signature is handed out in its place")]

use std::{
    ffi::{c_int, c_void},
    mem::transmute,
};

use super::super::hook::{CUDA_SUCCESS, Function};
use crate::{
    CudaError,
    attributes::{ATTRIBUTES, Question},
    clock::Moment,
};

type DeviceGetAttribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;

pub static DEVICE_GET_ATTRIBUTE: Function =
    Function::new(device_get_attribute as DeviceGetAttribute as *mut c_void);

/// `cuDeviceGetAttribute`, from memory.
unsafe extern "C" fn device_get_attribute(answer: *mut c_int, attribute: c_int, device: c_int) -> c_int {
    // SAFETY: this is the driver's function of that name, looked up before this one was handed out.
    let drivers = unsafe { transmute::<*mut c_void, DeviceGetAttribute>(DEVICE_GET_ATTRIBUTE.drivers()) };
    if answer.is_null() {
        // SAFETY: these are the caller's arguments; the driver refuses them.
        return unsafe { drivers(answer, attribute, device) };
    }
    let asked = ATTRIBUTES.answer(Question { attribute, device }, Moment::now, || {
        let mut value = 0;
        // SAFETY: the driver writes its answer to a place of our own.
        match unsafe { drivers(&raw mut value, attribute, device) } {
            CUDA_SUCCESS => Ok(value),
            code => Err(CudaError(code)),
        }
    });
    match asked {
        Ok(value) => {
            // SAFETY: the caller gives a place for the answer, as to the driver.
            unsafe { answer.write(value) };
            CUDA_SUCCESS
        }
        Err(CudaError(code)) => code,
    }
}
