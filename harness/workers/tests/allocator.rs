//! The allocator settings of workers against the C library of this machine. An integration test, because a process that a unit test
//! forks shares the locks that other tests hold.

#![cfg(target_env = "gnu")]

use std::{path::Path, process::Command};

use twinfer_workers::ALLOCATOR;

#[test]
fn allocator_accepts_its_settings() {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let Some(loader) = loader.iter().find(|path| Path::new(path).is_file()) else { return };
    let listing = Command::new(loader).arg("--list-tunables").env(ALLOCATOR.0, ALLOCATOR.1).output();
    let text = String::from_utf8(listing.unwrap().stdout).unwrap();
    for tunable in ALLOCATOR.1.split(':') {
        let (name, value) = tunable.split_once('=').unwrap();
        let expected = format!("{name}: {:#x}", value.parse::<u64>().unwrap());
        assert!(text.contains(&expected), "{expected} is not in\n{text}");
    }
}
