//! Answers calls of the CUDA driver from memory, in front of the CUDA runtimes that TensorRT, ONNX Runtime and cuDNN link
//! into themselves.
//!
//! Building one TensorRT engine asks the driver for thousands of device attributes, and allocates, frees, maps and waits
//! about a hundred times. Part of these calls take a lock shared by all processes and devices, or wake a thread of every
//! process on the device. The *driver cache* answers the repeated ones inside the process.
//!
//! # Entry points
//!
//! [`attach`] and [`attach_by_name`] redirect one loaded library to the cache; [`MemoryMode`], the option `memory` of a
//! variant, selects what the cache answers; [`attribute_tally`] and [`memory_tally`] report how many calls still reached the
//! driver. Attach a library before its first CUDA call: a CUDA runtime keeps every address that it has looked up.
//!
//! ```no_run
//! use std::path::Path;
//! use twinfer_case::MemoryMode;
//! use twinfer_driver_cache::{attach, attribute_tally};
//!
//! # fn load(_: &Path) {}
//! let tensorrt = Path::new("/opt/tensorrt/lib/libnvinfer.so.8");
//! load(tensorrt);
//! attach(tensorrt, MemoryMode::Keep)?;
//! // … build engines …
//! println!("{}", attribute_tally());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a library is attached
//!
//! A CUDA runtime finds the driver's functions through `dlsym`. The dynamic loader keeps the address of `dlsym` in the
//! global offset table (GOT) of the library that imports it. `attach` overwrites that one word with the address of a `dlsym`
//! of this crate, which returns a *hook* for each driver function listed in the crate's README and forwards every other
//! lookup to the C library. No other library's table is touched, and nothing is preloaded.
//!
//! A library that is attached may still find a driver that the hooks cannot call: [`ensure_in_force`] says so.
//!
//! # What is answered
//!
//! * **Device attributes** (`attributes`): each attribute of each device is requested once. One answer in 1,024 is
//!   compared with the driver's; [`compare_every_attribute`] compares every answer.
//! * **Memory** (`blocks`, `virtual_memory`, `free_memory`): freed memory stays allocated and serves later allocations,
//!   cleared to zero.
//! * **Events** (`events`): events are created without blocking synchronization and polled.
//!
//! [`MemoryMode::Attributes`] leaves memory and events to the driver; [`MemoryMode::Off`] leaves the library untouched.
//!
//! # What is poisoned
//!
//! With [`MemoryMode::Poison`], nothing is kept for later allocations. Memory holds a pattern before a library writes to it and
//! after the library has freed it, and guard bytes stand behind each block (`poison`); [`take_out_of_bounds_writes`] returns
//! what has changed them.
//!
//! The crate supports Linux on x86-64 with glibc, as the libraries do. Elsewhere [`attach`] returns
//! [`AttachError::Unsupported`].

#![cfg_attr(
    not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")),
    expect(dead_code, reason = "no library is attached")
)]

mod attach_error;
mod attributes;
mod blocks;
mod clock;
mod driver;
mod events;
mod free_memory;
mod idle_limit;
mod in_force;
#[cfg_attr(
    not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")),
    path = "unsupported.rs"
)]
mod linux;
mod poison;
mod process_mode;
mod tally;
mod virtual_memory;

use std::path::Path;

pub use attach_error::AttachError;
use attributes::ATTRIBUTES;
use blocks::BLOCK_CACHE;
pub use in_force::NotInForce;
pub use tally::{AttributeTally, MemoryTally};
use twinfer_case::{MemoryMode, OutOfBoundsWrite, Stage};
use virtual_memory::VIRTUAL_MEMORY;

/// Redirects the loaded library whose file is `path` to the cache, and keeps the library loaded until the process ends.
///
/// Call `attach` before the library's first CUDA call: a CUDA runtime keeps every address that it has looked up. With
/// [`MemoryMode::Off`] the library is left untouched. Attaching a library again changes nothing.
///
/// # Errors
///
/// If the library cannot be redirected, or another library of this process was attached in another mode.
pub fn attach(path: &Path, mode: MemoryMode) -> Result<(), AttachError> {
    attach_in(mode, || linux::attach(path))
}

/// As [`attach`], for the library that the dynamic loader finds under `name`; loads it if it is not loaded yet.
///
/// # Errors
///
/// As [`attach`], and if no library has this name.
pub fn attach_by_name(name: &str, mode: MemoryMode) -> Result<(), AttachError> {
    attach_in(mode, || linux::attach(&linux::load(name)?))
}

/// Compares every cached device attribute with the driver's from now on, instead of a sample.
pub fn compare_every_attribute() {
    ATTRIBUTES.compare_all();
}

/// Returns the device attributes that all attached libraries of this process have requested so far.
pub fn attribute_tally() -> AttributeTally {
    ATTRIBUTES.tally()
}

/// Returns the allocations that all attached libraries of this process have requested so far: blocks of device and
/// pinned host memory, and physical memory for virtual ranges.
pub fn memory_tally() -> MemoryTally {
    BLOCK_CACHE.tally() + VIRTUAL_MEMORY.tally()
}

/// Returns the writes behind the ends of blocks that were found since the last call, in the order of the blocks' allocations; at
/// most 16. `stage` is the stage that has just ended.
///
/// Waits for the current context and compares the guard bytes of all its blocks. Always empty unless the mode of the process is
/// [`MemoryMode::Poison`].
pub fn take_out_of_bounds_writes(stage: Stage) -> Vec<OutOfBoundsWrite> {
    linux::take_writes(stage)
}

/// Whether the mode of this process is in force, as far as its libraries have looked up functions of the driver. A CUDA runtime looks
/// up all of them at its first call.
///
/// # Errors
///
/// If memory that is to be kept or poisoned is the driver's. With [`MemoryMode::Attributes`] that is no error: the driver answers what no
/// hook does.
pub fn ensure_in_force() -> Result<(), NotInForce> {
    process_mode::get().map_or(Ok(()), |mode| in_force::check(mode, linux::missing()))
}

/// Sets the mode of this process and redirects a library, unless libraries are to be left untouched.
fn attach_in(
    mode: MemoryMode,
    redirect: impl FnOnce() -> Result<(), AttachError>,
) -> Result<(), AttachError> {
    match mode {
        MemoryMode::Off => Ok(()),
        MemoryMode::Attributes | MemoryMode::Keep | MemoryMode::Poison(_) => {
            process_mode::set(mode)?;
            redirect()
        }
    }
}
