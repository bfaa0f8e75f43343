//! The one question this crate has for the CUDA driver: is there a GPU? TensorRT 8.6 crashes without one.

use std::ffi::{c_int, c_uint};

/// The number of GPUs, or the reason the CUDA driver cannot count them.
pub fn device_count() -> Result<u32, String> {
    // SAFETY: the CUDA driver's initializers have no preconditions.
    let driver = unsafe { libloading::Library::new("libcuda.so.1") }.map_err(|error| reason(&error))?;
    // SAFETY: both functions have the signatures of the CUDA driver API, which are stable; the driver stays loaded
    // while they are used.
    let (initialized, counted, count) = unsafe {
        let init =
            driver.get::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit").map_err(|error| reason(&error))?;
        let get_count = driver
            .get::<unsafe extern "C" fn(*mut c_int) -> c_int>("cuDeviceGetCount")
            .map_err(|error| reason(&error))?;
        let mut count = 0;
        (init(0), get_count(&raw mut count), count)
    };
    // The driver does not survive being unloaded after cuInit.
    std::mem::forget(driver);
    match (initialized, counted) {
        (0, 0) if count > 0 => Ok(count.unsigned_abs()),
        (0, 0) => Err("the CUDA driver sees no device".to_owned()),
        (error, _) => Err(format!("the CUDA driver failed to initialize (CUDA error {error})")),
    }
}

/// The dynamic loader's own message, which `libloading` keeps as the source of its error.
pub fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
