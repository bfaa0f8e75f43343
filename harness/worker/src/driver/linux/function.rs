use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

pub const CUDA_SUCCESS: c_int = 0;

/// A function of the driver, and ours that stands in for it.
pub struct Function {
    ours: *mut c_void,
    /// Null until somebody looked the driver's function up.
    drivers: AtomicPtr<c_void>,
}

// SAFETY: `ours` is the address of a function and never written.
#[expect(unsafe_code, reason = "a static that holds the address of a function")]
unsafe impl Sync for Function {}

impl Function {
    pub const fn new(ours: *mut c_void) -> Self {
        Self { ours, drivers: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Ours in place of `found`. A second driver's function stays what it is: ours can call only one.
    pub fn in_place_of(&self, found: *mut c_void) -> *mut c_void {
        if found.is_null() {
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
