//! A process whose CUDA runtime asks for functions that work on the default stream of each thread. The first lookup of a
//! function decides what its hook calls, so that no other test may look it up.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[expect(dead_code, reason = "the tests of the other modes use the rest")]
#[path = "../driver/stand_in.rs"]
mod stand_in;

use stand_in::{Driver, LAZY, Runtime};

#[test]
fn per_thread_stream_functions_are_the_drivers() {
    let (runtime, driver) = (Runtime::attached("per-thread", &LAZY), Driver::open());
    for way in ["by_first_per_thread", "by_second_per_thread"] {
        for (name, found) in
            [(c"cuMemAllocAsync", "cuMemAllocAsync_ptsz"), (c"cuMemFreeAsync", "cuMemFreeAsync_ptsz")]
        {
            assert_eq!(runtime.by_version(way, name, 12_000), driver.address(found));
        }
        assert_ne!(runtime.by_version(way, c"cuMemAlloc", 12_000), driver.address("cuMemAlloc_v2"));
    }
    assert_ne!(
        runtime.by_version("by_second", c"cuMemFreeAsync", 12_000),
        driver.address("cuMemFreeAsync"),
        "without the flag the function is hooked"
    );
}
