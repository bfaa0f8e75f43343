//! A process in which libraries are attached with `memory=poison-large`: what each function of the driver hands out holds the
//! pattern.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[expect(dead_code, reason = "the tests of the other modes use the rest")]
#[path = "../driver/stand_in.rs"]
mod stand_in;

use std::{ffi::CStr, ptr};

use stand_in::{Driver, LAZY, Runtime, replace_byte};
use twinfer_case::{MemoryKind, MemoryMode, PoisonPattern, Stage};
use twinfer_driver_cache::{attach, take_out_of_bounds_writes};

/// The repeated byte of the pattern.
const BYTE: u8 = PoisonPattern::Large.bytes()[0];

fn attached(name: &str) -> Runtime {
    let runtime = Runtime::load(name, &LAZY);
    attach(&runtime.path, MemoryMode::Poison(PoisonPattern::Large)).unwrap();
    runtime
}

/// Calls a function that succeeds.
fn call(runtime: &Runtime, name: &CStr, words: [u64; 5]) {
    assert_eq!(runtime.call(runtime.by_name(name), words), 0, "{name:?}");
}

fn address_of(word: &mut u64) -> u64 {
    ptr::from_mut(word).expose_provenance() as u64
}

#[test]
fn only_functions_that_hand_out_memory_are_hooked() {
    let (runtime, driver) = (attached("hooked"), Driver::open());
    for name in [c"cuMemGetInfo_v2", c"cuEventCreate", c"cuMemAddressReserve"] {
        assert_eq!(runtime.by_name(name), driver.address(name.to_str().unwrap()));
    }
    let alloc = runtime.by_version("by_second", c"cuMemAlloc", 12_000);
    assert_eq!(alloc, runtime.by_name(c"cuMemAlloc_v2"));
    assert_ne!(alloc, driver.address("cuMemAlloc_v2"));
}

#[test]
fn blocks_of_pools_hold_the_pattern_before_and_after_their_use() {
    let (runtime, mut block, mut pooled) = (attached("pool"), 0, 0);
    call(&runtime, c"cuMemAllocAsync", [address_of(&mut block), 101, 0, 0, 0]);
    call(&runtime, c"cuMemAllocFromPoolAsync", [address_of(&mut pooled), 8, 1, 0, 0]);
    assert_eq!([replace_byte(block, 1), replace_byte(block + 100, 1), replace_byte(pooled, 1)], [BYTE; 3]);
    for block in [block, pooled] {
        call(&runtime, c"cuMemFreeAsync", [block, 0, 0, 0, 0]);
        assert_eq!(replace_byte(block, 1), BYTE);
    }
}

/// Pinned memory and a size that is queried, in one test because both leave writes to take.
#[test]
fn blocks_of_host_and_device_have_guard_bytes() {
    let (runtime, mut pinned, mut plain, mut device) = (attached("blocks"), 0, 0, 0);
    call(&runtime, c"cuMemHostAlloc", [address_of(&mut pinned), 10, 2, 0, 0]);
    call(&runtime, c"cuMemAllocHost_v2", [address_of(&mut plain), 10, 0, 0, 0]);
    call(&runtime, c"cuMemAlloc_v2", [address_of(&mut device), 30, 0, 0, 0]);
    let (mut base, mut bytes) = (0, 0);
    let range = [address_of(&mut base), address_of(&mut bytes), device, 0, 0];
    call(&runtime, c"cuMemGetAddressRange_v2", range);
    assert_eq!((base, bytes), (device, 30), "without its guard bytes");
    assert_eq!([pinned, plain, device].map(|block| replace_byte(block, 1)), [BYTE; 3]);
    assert_eq!(replace_byte(pinned + 11, 1), BYTE);
    call(&runtime, c"cuMemFreeHost", [pinned, 0, 0, 0, 0]);
    assert_eq!(replace_byte(pinned, 1), BYTE);
    assert_eq!(replace_byte(device + 30, 1), BYTE);
    let found = take_out_of_bounds_writes(Stage::Build);
    let found: Vec<_> = found.iter().map(|write| (write.memory, write.bytes, write.offset)).collect();
    assert_eq!(found, [(MemoryKind::Host, 10, 11), (MemoryKind::Device, 30, 30)]);
    assert_eq!(runtime.call(runtime.by_name(c"cuMemAlloc_v2"), [0, 30, 0, 0, 0]), 1);
    assert_eq!(runtime.call(runtime.by_name(c"cuMemFreeHost"), [pinned, 0, 0, 0, 0]), 1);
}

#[test]
fn mapped_memory_holds_the_pattern_once_it_is_accessible() {
    let (runtime, mut range, mut handle) = (attached("mapped"), 0, 0);
    // pinned memory of device 0, with read and write access for that device
    let (properties, access) = ([1_u32, 0, 1, 0, 0, 0, 0, 0], [1_u32, 0, 3]);
    let properties = properties.as_ptr().expose_provenance() as u64;
    let access = access.as_ptr().expose_provenance() as u64;
    call(&runtime, c"cuMemAddressReserve", [address_of(&mut range), 4096, 0, 0, 0]);
    call(&runtime, c"cuMemCreate", [address_of(&mut handle), 4096, properties, 0, 0]);
    call(&runtime, c"cuMemMap", [range, 4096, 0, handle, 0]);
    call(&runtime, c"cuMemSetAccess", [range, 4096, access, 1, 0]);
    assert_eq!(replace_byte(range + 4095, 1), BYTE);
    call(&runtime, c"cuMemSetAccess", [range, 4096, access, 1, 0]);
    assert_eq!(replace_byte(range + 4095, 1), 1, "what was written stays");
    call(&runtime, c"cuMemUnmap", [range, 4096, 0, 0, 0]);
    call(&runtime, c"cuMemRelease", [handle, 0, 0, 0, 0]);
}
