//! What stands in for the driver's functions that create events and wait for them.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    ffi::{c_int, c_uint, c_void},
    thread,
};

use super::super::{
    driver_api::{EventCreate, EventSynchronize, checked},
    hook::{Function, answer},
};
use crate::{
    clock::Moment,
    events::{wait, without_interrupt},
};

pub static EVENT_CREATE: Function = Function::beyond_attributes(event_create as EventCreate as *mut c_void);
pub static EVENT_SYNCHRONIZE: Function =
    Function::beyond_attributes(event_synchronize as EventSynchronize as *mut c_void);

/// `cuEventCreate`, of an event that raises no interrupt.
unsafe extern "C" fn event_create(event: *mut *mut c_void, flags: c_uint) -> c_int {
    // SAFETY: these are the caller's arguments, and flags that the driver knows as well.
    answer(|driver| checked(unsafe { (driver.event_create)(event, without_interrupt(flags)) }))
}

/// `cuEventSynchronize`, which needs none.
unsafe extern "C" fn event_synchronize(event: *mut c_void) -> c_int {
    answer(|driver| {
        // SAFETY: the caller's event, which may be asked about where it may be waited for.
        wait(|| checked(unsafe { (driver.event_query)(event) }), Moment::now, thread::sleep)
    })
}
