use std::io;

use twinfer_case::MemoryMode;

/// Why a library runs without the cache. The library works all the same, only slower.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The library's file or the process's memory map cannot be read, or the library's table cannot be made writable.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The library does not import the named function, so it finds the driver in another way.
    #[error("it does not import {0}")]
    NotImported(&'static str),
    /// The library is not loaded, or not laid out as its file states.
    #[error("it is not loaded")]
    NotLoaded,
    /// The dynamic loader finds no library of this name.
    #[error("it is not found")]
    NotFound,
    /// The library's import of the named function already resolves to neither the C library nor this crate.
    #[error("its {0} is not the C library's")]
    Replaced(&'static str),
    /// Another library of this process is attached in another mode.
    #[error("memory={wanted} is wanted, and another library of this process has memory={set}")]
    OtherMode {
        /// The mode that was wanted.
        wanted: MemoryMode,
        /// The mode of the process.
        set: MemoryMode,
    },
    /// The crate does not support this platform.
    #[error("the driver cache supports only x86-64 Linux with glibc")]
    Unsupported,
}
