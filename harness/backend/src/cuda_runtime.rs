use std::path::Path;

/// The location of a backend's CUDA runtime, before it is called for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaRuntime<'a> {
    /// In the library of this file, which is loaded.
    In(&'a Path),
    /// In the library of this name, which the dynamic loader finds and may not have loaded yet.
    Named(&'a str),
}
