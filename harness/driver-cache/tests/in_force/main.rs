//! Drivers that the hooks cannot stand in front of: a mode that is not in force is an error, unless the driver answers as well.
//!
//! A process has one mode and one driver, so each combination runs in a process of its own.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[expect(dead_code, reason = "the tests of the other modes use the rest")]
#[path = "../driver/stand_in.rs"]
mod stand_in;

use std::{env, ffi::OsString, path::PathBuf, process::Command, sync::LazyLock};

use stand_in::{FOLDER, LAZY, Runtime, compile};
use twinfer_case::{MemoryMode, PoisonPattern};
use twinfer_driver_cache::{attach, ensure_in_force};

/// The name of the test that is the process, and the variables that select what it does.
const TEST: &str = "process_prints_whether_its_mode_is_in_force";
const MODE: &str = "TWINFER_TEST_MEMORY";
const DRIVERS: &str = "TWINFER_TEST_DRIVERS";
/// Begins the line that the process prints.
const PRINTED: &str = "in force: ";

const KEEP: MemoryMode = MemoryMode::Keep;
const POISON: MemoryMode = MemoryMode::Poison(PoisonPattern::Nan);

static COMPLETE: LazyLock<PathBuf> = LazyLock::new(|| driver("libcuda-complete.so", &[]));
static SECOND: LazyLock<PathBuf> = LazyLock::new(|| driver("libcuda-second.so", &[]));
static OLD: LazyLock<PathBuf> = LazyLock::new(|| {
    // the first function of the driver's pools, which drivers before CUDA 11.2 do not have
    driver("libcuda-old.so", &["-DcuMemAllocAsync=cuMemAllocLater"])
});

fn driver(name: &str, flags: &[&str]) -> PathBuf {
    let path = FOLDER.path().join(name);
    compile("driver.c", &path, flags);
    path
}

/// What a process prints in which a library per driver looks up its functions.
fn printed(mode: MemoryMode, drivers: &[&PathBuf]) -> String {
    let paths: Vec<OsString> = drivers.iter().map(|driver| driver.as_os_str().to_owned()).collect();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(MODE, mode.to_string())
        .env(DRIVERS, env::join_paths(paths).unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.split_once(PRINTED));
    line.unwrap_or_else(|| panic!("memory={mode}: {output:?}")).1.to_owned()
}

#[test]
fn process_prints_whether_its_mode_is_in_force() {
    let Ok(mode) = env::var(MODE) else { return };
    let drivers = env::var_os(DRIVERS).unwrap();
    for (place, driver) in env::split_paths(&drivers).enumerate() {
        let path = FOLDER.path().join(format!("libruntime{place}.so"));
        compile("runtime.c", &path, &LAZY);
        let runtime = Runtime::open(path, &driver);
        attach(&runtime.path, mode.parse().unwrap()).unwrap();
        ensure_in_force().unwrap();
        for name in [c"cuDeviceGetAttribute", c"cuMemAlloc_v2"] {
            assert!(!runtime.by_name(name).is_null());
        }
    }
    println!("{PRINTED}{}", ensure_in_force().map_or_else(|error| error.to_string(), |()| "yes".to_owned()));
}

#[test]
fn mode_is_in_force_with_a_complete_driver() {
    for mode in MemoryMode::ALL {
        assert_eq!(printed(mode, &[&COMPLETE]), "yes", "memory={mode}");
    }
}

#[test]
fn driver_without_a_function_puts_hooks_for_memory_out_of_force() {
    for mode in [KEEP, POISON] {
        assert_eq!(
            printed(mode, &[&OLD]),
            format!(
                "memory={mode} is not in force: the CUDA driver's cuMemAllocAsync is not found; use a newer driver, or \
                 memory=attributes"
            )
        );
    }
    for mode in [MemoryMode::Off, MemoryMode::Attributes] {
        assert_eq!(printed(mode, &[&OLD]), "yes", "memory={mode}");
    }
}

#[test]
fn second_driver_puts_poison_out_of_force() {
    let ambiguous = printed(POISON, &[&COMPLETE, &SECOND]);
    assert!(ambiguous.contains("find functions of the CUDA driver at two addresses"), "{ambiguous}");
    for mode in [MemoryMode::Off, MemoryMode::Attributes, KEEP] {
        assert_eq!(printed(mode, &[&COMPLETE, &SECOND]), "yes", "memory={mode}");
    }
}
