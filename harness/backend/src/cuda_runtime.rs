use std::path::Path;

use twinfer_case::MemoryMode;

/// The CUDA runtime of a backend, before it is called for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaRuntime<'a> {
    /// The library that contains it.
    pub library: RuntimeLibrary<'a>,
    /// What the variant has done with its memory.
    pub memory: MemoryMode,
}

/// A library that contains a CUDA runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeLibrary<'a> {
    /// The library of this file, which is loaded.
    File(&'a Path),
    /// The library of this name, which the dynamic loader finds and may not have loaded yet.
    Name(&'a str),
}
