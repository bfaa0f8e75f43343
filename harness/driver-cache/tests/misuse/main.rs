//! A program that writes beyond a block, reads memory that it has not written, and reads memory that it has freed: with
//! `memory=poison-…` it shows, with `memory=keep` it does not. With the stand-in for the driver, and with the real one if there is a
//! GPU.
//!
//! To run the compiled test on a machine without a C compiler, copy a library that was compiled from `tests/driver/runtime.c` and set
//! `TWINFER_TEST_CUDA_RUNTIME` to its path. `TWINFER_COMPUTE_SANITIZER` is the path of NVIDIA's compute-sanitizer.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod program;
#[expect(dead_code, reason = "the tests of the other modes use the rest")]
#[path = "../driver/stand_in.rs"]
mod stand_in;

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::LazyLock,
};

use program::{Libraries, Misuse, address, call, command, notice};
use stand_in::{DRIVER, Driver, FOLDER, LAZY, compile};
use twinfer_case::{MemoryMode, PoisonPattern};

/// A library that finds the driver as a CUDA runtime does, for all tests.
static RUNTIME: LazyLock<PathBuf> = LazyLock::new(|| {
    env::var_os("TWINFER_TEST_CUDA_RUNTIME").map_or_else(
        || {
            let path = FOLDER.path().join("libmisuse.so");
            compile("runtime.c", &path, &LAZY);
            path
        },
        PathBuf::from,
    )
});

const WRITTEN: &str = "behind a block of 400 bytes of device memory, the byte at offset 400 was written";

#[test]
fn program_misuses_memory_as_its_environment_says() {
    program::run();
}

#[test]
fn poison_shows_misuse_that_keep_hides() {
    let driver = FOLDER.path().join(DRIVER);
    assert_shown_by_poison_alone(Libraries { driver: &driver, runtime: &RUNTIME });
}

#[test]
fn poison_shows_misuse_that_keep_hides_on_the_device() {
    let driver = Path::new("libcuda.so.1");
    if !has_device(driver) {
        return skip("no CUDA device");
    }
    assert_shown_by_poison_alone(Libraries { driver, runtime: &RUNTIME });
}

#[test]
fn compute_sanitizer_agrees_about_misuse() {
    let driver = Path::new("libcuda.so.1");
    if !has_device(driver) {
        return skip("no CUDA device");
    }
    let Some(sanitizer) = env::var_os("TWINFER_COMPUTE_SANITIZER") else {
        return skip("TWINFER_COMPUTE_SANITIZER is not set");
    };
    let libraries = Libraries { driver, runtime: &RUNTIME };
    for (misuse, tool, words) in [
        (Misuse::Overrun, "memcheck", "Invalid __global__ write of size 4 bytes"),
        (Misuse::UninitializedRead, "initcheck", "Uninitialized __global__ memory read of size 4 bytes"),
        (Misuse::UseAfterFree, "memcheck", "Invalid __global__ read of size 4 bytes"),
    ] {
        let launcher = [sanitizer.to_str().unwrap(), "--tool", tool];
        let output = command(&launcher, misuse, MemoryMode::Off, libraries).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(words), "{misuse}: {text}{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn assert_shown_by_poison_alone(libraries: Libraries<'_>) {
    for pattern in PoisonPattern::ALL {
        let [low, high] = pattern.bytes();
        let element = format!("{:?}", f32::from_le_bytes([low, high, low, high]));
        let noticed = Misuse::ALL.map(|misuse| notice(misuse, MemoryMode::Poison(pattern), libraries));
        assert_eq!(noticed, [WRITTEN, &element, &element], "{pattern:?}");
    }
    // zeros where memory is reused, and what was there before in memory that is freed
    let noticed = Misuse::ALL.map(|misuse| notice(misuse, MemoryMode::Keep, libraries));
    assert_eq!(noticed, ["nothing", "0.0", "1.0"]);
}

fn has_device(driver: &Path) -> bool {
    let mut devices = 0_u64;
    let count = address(&mut devices);
    Driver::at(driver).is_some_and(|driver| {
        call(&driver, "cuInit", [0; 5]) == 0
            && call(&driver, "cuDeviceGetCount", [count, 0, 0, 0, 0]) == 0
            && devices > 0
    })
}

/// Writes past the capture of the test harness, so that a skipped test never looks like one that ran.
fn skip(reason: &str) {
    // a test does not fail because standard error is closed
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}
