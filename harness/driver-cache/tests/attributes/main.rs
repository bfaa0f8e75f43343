//! A process in which libraries are attached with `memory=attributes`.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[expect(dead_code, reason = "the tests of the other modes use the rest")]
#[path = "../driver/stand_in.rs"]
mod stand_in;

use stand_in::{ATTRIBUTE, Driver, LAZY, Runtime};
use twinfer_case::MemoryMode;
use twinfer_driver_cache::{AttachError, attach};

#[test]
fn memory_and_events_are_left_to_the_driver() {
    let (runtime, driver) = (Runtime::load("attributes", &LAZY), Driver::open());
    attach(&runtime.path, MemoryMode::Attributes).unwrap();
    assert_ne!(runtime.by_name(ATTRIBUTE), driver.address("cuDeviceGetAttribute"));
    assert_eq!(runtime.by_name(c"cuMemAlloc_v2"), driver.address("cuMemAlloc_v2"));
    assert_eq!(runtime.by_name(c"cuEventCreate"), driver.address("cuEventCreate"));
}

#[test]
fn library_in_another_mode_is_an_error_and_left_untouched() {
    let (first, second) = (Runtime::load("first", &LAZY), Runtime::load("second", &LAZY));
    attach(&first.path, MemoryMode::Attributes).unwrap();
    let refused = attach(&second.path, MemoryMode::Keep);
    assert!(matches!(refused, Err(AttachError::OtherMode { .. })), "{refused:?}");
    assert_eq!(second.by_name(ATTRIBUTE), Driver::open().address("cuDeviceGetAttribute"));
    attach(&second.path, MemoryMode::Off).unwrap();
}
