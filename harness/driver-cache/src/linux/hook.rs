use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use super::driver_api::Functions;
use crate::{CudaError, stands_in_beyond_attributes};

pub const CUDA_SUCCESS: c_int = 0;
const NOT_INITIALIZED: c_int = 3;

/// A function of the driver, and ours that stands in for it.
pub struct Function {
    ours: *mut c_void,
    /// Whether it is one of those for more than attributes, which call [`Functions`].
    is_beyond_attributes: bool,
    /// Null until somebody looked the driver's function up.
    drivers: AtomicPtr<c_void>,
}

// SAFETY: `ours` is the address of a function and never written.
#[expect(unsafe_code, reason = "a static that holds the address of a function")]
unsafe impl Sync for Function {}

impl Function {
    pub const fn new(ours: *mut c_void) -> Self {
        Self { ours, is_beyond_attributes: false, drivers: AtomicPtr::new(ptr::null_mut()) }
    }

    /// One for more than attributes, which calls [`Functions`].
    pub const fn beyond_attributes(ours: *mut c_void) -> Self {
        Self { is_beyond_attributes: true, ..Self::new(ours) }
    }

    /// Ours in place of `found`. A second driver's function stays what it is: ours can call only one.
    pub fn in_place_of(&self, found: *mut c_void) -> *mut c_void {
        if found.is_null()
            || self.is_beyond_attributes
                && !(stands_in_beyond_attributes() && Functions::beside(found).is_some())
        {
            return found;
        }
        let before =
            self.drivers.compare_exchange(ptr::null_mut(), found, Ordering::AcqRel, Ordering::Acquire);
        match before {
            Ok(_) => self.ours,
            Err(drivers) if drivers == found => self.ours,
            Err(_) => found,
        }
    }

    /// The driver's; our functions are handed out only once it is known.
    pub fn drivers(&self) -> *mut c_void {
        self.drivers.load(Ordering::Acquire)
    }
}

/// What a function of ours answers that needs the driver's, without which it is not handed out.
pub fn answer(of: impl FnOnce(&'static Functions) -> Result<(), CudaError>) -> c_int {
    match Functions::get().map(of) {
        Some(Ok(())) => CUDA_SUCCESS,
        Some(Err(CudaError(code))) => code,
        None => NOT_INITIALIZED,
    }
}
