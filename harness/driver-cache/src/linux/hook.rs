use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use twinfer_case::PoisonPattern;

use super::driver_api::{CUDA_SUCCESS, DriverApi};
use crate::{
    driver::{CudaError, INVALID_VALUE},
    in_force, process_mode,
};

const CUDA_ERROR_NOT_INITIALIZED: c_int = 3;

/// A driver function and the function of this crate that is handed out in its place.
pub struct Hook {
    replacement: *mut c_void,
    scope: Scope,
    /// The driver's function; null before the first lookup.
    original: AtomicPtr<c_void>,
}

/// When a hook is handed out.
enum Scope {
    /// Always.
    Always,
    /// Only if the driver has every function of [`DriverApi`].
    WithDriverApi,
}

// SAFETY: `replacement` is the address of a function and is never written.
#[expect(unsafe_code, reason = "a static holds the address of a function")]
unsafe impl Sync for Hook {}

impl Hook {
    /// A hook that calls only the function in whose place it stands.
    pub const fn new(replacement: *mut c_void) -> Self {
        Self { replacement, scope: Scope::Always, original: AtomicPtr::new(ptr::null_mut()) }
    }

    /// A hook for memory or events, which calls functions of [`DriverApi`].
    pub const fn for_memory_and_events(replacement: *mut c_void) -> Self {
        Self { scope: Scope::WithDriverApi, ..Self::new(replacement) }
    }

    /// Returns the function to hand out for `found`, the driver's: the hook's, or `found` itself if the hook does not apply or
    /// already stands in for a function of another address, since it can call only one.
    pub fn resolve(&self, found: *mut c_void) -> *mut c_void {
        if found.is_null() || !self.applies_to(found) {
            return found;
        }
        let recorded =
            self.original.compare_exchange(ptr::null_mut(), found, Ordering::AcqRel, Ordering::Acquire);
        match recorded {
            Ok(_) => self.replacement,
            Err(original) if original == found => self.replacement,
            Err(_) => {
                in_force::record_second_address();
                found
            }
        }
    }

    fn applies_to(&self, found: *mut c_void) -> bool {
        match self.scope {
            Scope::Always => true,
            Scope::WithDriverApi => DriverApi::of_driver(found).is_some(),
        }
    }

    /// Returns the driver's function. It is never null in a hook that has been handed out.
    pub fn original(&self) -> *mut c_void {
        self.original.load(Ordering::Acquire)
    }
}

/// Runs the body of a hook for memory or events with the driver's functions, and returns the code for its caller.
///
/// Such a hook is handed out only after the driver's functions were found; `CUDA_ERROR_NOT_INITIALIZED` is returned otherwise.
pub fn with_driver_api(body: impl FnOnce(&'static DriverApi) -> Result<(), CudaError>) -> c_int {
    match DriverApi::get().map(body) {
        Some(Ok(())) => CUDA_SUCCESS,
        Some(Err(CudaError(code))) => code,
        None => CUDA_ERROR_NOT_INITIALIZED,
    }
}

/// As [`with_driver_api`], with the pattern of this process, which is set before a hook that fills memory is handed out.
pub fn with_poison(body: impl FnOnce(&'static DriverApi, PoisonPattern) -> Result<(), CudaError>) -> c_int {
    with_driver_api(|api| body(api, process_mode::pattern().ok_or(INVALID_VALUE)?))
}
