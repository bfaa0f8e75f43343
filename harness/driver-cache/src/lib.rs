//! The driver cache: a library's CUDA runtime asks the driver for each attribute of a device once, gets memory back that it
//! has freed, and waits for events without interrupts.
//!
//! TensorRT asks for thousands of device attributes a build. The driver answers two of them, the clock rates, with a
//! system call that waits for every other process that makes it, so that builds are slow, and slower still side by
//! side. The answers are properties of the hardware. [`attach`] gives one loaded library a memory of them.
//!
//! # How
//!
//! A CUDA runtime that is linked into a library finds the driver's functions through `dlsym`, whose address the dynamic
//! loader keeps in a slot of that library. `attach` writes another function's address there, which answers lookups of
//! `cuDeviceGetAttribute`, of the functions that allocate, map and free memory and tell how much is free, of those that create
//! events and wait for them, and of `cuGetProcAddress` through which they are found too, with functions of its own; all other lookups reach the C library as they were made. No other library's slots are touched: whoever else calls
//! `dlsym` or the driver notices nothing.
//!
//! # What is remembered
//!
//! Every attribute below 256 of every device below 16, once the driver gave it successfully. The two that change while
//! processes run, the compute mode and the limit on a kernel's time, are remembered for ten seconds. An error is handed on and
//! asked for again.
//!
//! # Whether it is right
//!
//! One answer in 1,024 is compared with the driver's, and replaced where it differs; in [`Mode::Verify`] each is, and
//! a difference ends the worker. [`tally`] counts both. `TWINFER_DRIVER_CACHE=off` leaves every library as it is.
//!
//! # Memory
//!
//! Calls that allocate, map and release memory, and that ask how much is free, wait for a lock of all processes and all
//! devices; a build makes about a hundred of them. What is freed is therefore kept, blocks of the device and of the host
//! ([`blocks`]) and ranges of virtual memory with what is mapped there ([`virtual_memory`]), 256 MiB a process of either, and cleared when
//! it is allocated again; freeing waits for the context, as the driver's own does. Blocks of more than 64 MiB are the
//! driver's. How much is free holds for a second ([`free_memory`]), and the driver's own pools are told to keep what they
//! have. [`memory_tally`] counts.
//!
//! # Events
//!
//! A device that raises an interrupt wakes a thread of every process that uses it. Events are therefore created without, and
//! asked about until they are reached, without a pause at first ([`events`]).
//!
//! With [`Mode::Attributes`] memory and events are left to the driver.
//!
//! The module is made for x86-64 and glibc, as the libraries are; elsewhere nothing is attached.

mod attributes;
#[cfg_attr(
    not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")),
    expect(dead_code, reason = "nothing is attached")
)]
mod blocks;
mod cache_mode;
mod clock;
#[cfg_attr(
    not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")),
    expect(dead_code, reason = "nothing is attached")
)]
mod events;
#[cfg_attr(
    not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")),
    expect(dead_code, reason = "nothing is attached")
)]
mod free_memory;
#[cfg_attr(
    not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")),
    path = "unsupported.rs"
)]
mod linux;
#[cfg_attr(
    not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")),
    expect(dead_code, reason = "nothing is attached")
)]
mod virtual_memory;

use std::{
    io,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use attributes::ATTRIBUTES;
pub use attributes::Tally;
use blocks::MEMORY;
pub use blocks::Tally as MemoryTally;
pub use cache_mode::{InvalidMode, Mode, VARIABLE};
use virtual_memory::RANGES;

/// Why a library goes on without the cache, which costs time and nothing else.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The library's file or the list of what is loaded cannot be read, or its memory not be made writable.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It looks its functions up in another way.
    #[error("it does not import {0}")]
    NotImported(&'static str),
    /// It is not loaded, or not as its file says.
    #[error("it is not loaded")]
    NotLoaded,
    /// The dynamic loader finds no library of this name.
    #[error("it is not found")]
    NotFound,
    /// Somebody else has taken the place of a function that it imports.
    #[error("its {0} is not the C library's")]
    Replaced(&'static str),
    /// The module is not made for this machine.
    #[error("the cache is made for x86-64 and glibc")]
    Unsupported,
}

/// Lets the loaded library whose file is `path` find the cache in the driver's place; the library stays loaded.
///
/// It has to happen before the library's first call of CUDA: what a CUDA runtime has looked up, it keeps.
pub fn attach(path: &Path, mode: Mode) -> Result<(), AttachError> {
    if prepare(mode) { linux::attach(path) } else { Ok(()) }
}

/// The same for the library that the dynamic loader finds by this name, which is loaded first if it is not yet.
pub fn attach_named(name: &str, mode: Mode) -> Result<(), AttachError> {
    if prepare(mode) { linux::attach(&linux::load(name)?) } else { Ok(()) }
}

/// Whether libraries are spared more than attributes: memory that they free is kept, and events raise no interrupts.
static STANDS_IN_BEYOND_ATTRIBUTES: AtomicBool = AtomicBool::new(false);

/// Whether libraries are to find the cache.
fn prepare(mode: Mode) -> bool {
    if mode == Mode::Verify {
        ATTRIBUTES.verify();
    }
    if matches!(mode, Mode::On | Mode::Verify) {
        STANDS_IN_BEYOND_ATTRIBUTES.store(true, Ordering::Relaxed);
    }
    mode != Mode::Off
}

fn stands_in_beyond_attributes() -> bool {
    STANDS_IN_BEYOND_ATTRIBUTES.load(Ordering::Relaxed)
}

/// What all libraries of this process together have asked so far.
pub fn tally() -> Tally {
    ATTRIBUTES.tally()
}

/// The memory that all libraries of this process together have allocated and created so far.
pub fn memory_tally() -> MemoryTally {
    MEMORY.tally() + RANGES.tally()
}

/// A code that is not `CUDA_SUCCESS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CudaError(i32);
