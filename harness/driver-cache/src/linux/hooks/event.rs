//! The hooks that create events and wait for them.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    ffi::{c_int, c_uint, c_void},
    thread,
};

use crate::{
    clock::Timestamp,
    events::{wait, without_blocking_sync},
    linux::{
        driver_api::{EventCreate, EventSynchronize, checked},
        hook::{Hook, with_driver_api},
    },
};

pub static EVENT_CREATE: Hook = Hook::for_memory_and_events(event_create as EventCreate as *mut c_void);
pub static EVENT_SYNCHRONIZE: Hook =
    Hook::for_memory_and_events(event_synchronize as EventSynchronize as *mut c_void);

/// `cuEventCreate`, without `CU_EVENT_BLOCKING_SYNC`.
///
/// # Safety
///
/// As `cuEventCreate`: `event` is null or valid for a write of one handle. Clearing the flag leaves a combination of flags that
/// the driver accepts whenever it accepts the original one.
unsafe extern "C" fn event_create(event: *mut *mut c_void, flags: c_uint) -> c_int {
    // SAFETY: the caller's own pointer, and its flags but for one.
    with_driver_api(|api| checked(unsafe { (api.event_create)(event, without_blocking_sync(flags)) }))
}

/// `cuEventSynchronize`, which polls `cuEventQuery`.
///
/// # Safety
///
/// As `cuEventSynchronize`: `event` is a live event, or a handle that the driver refuses. `cuEventQuery` accepts and refuses the
/// same handles.
unsafe extern "C" fn event_synchronize(event: *mut c_void) -> c_int {
    with_driver_api(|api| {
        // SAFETY: the caller's own event.
        wait(|| checked(unsafe { (api.event_query)(event) }), Timestamp::now, thread::sleep)
    })
}
