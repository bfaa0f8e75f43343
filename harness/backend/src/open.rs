use std::path::Path;

use twinfer_case::Variant;

use crate::{Backend, golden::Golden, options::InvalidOption, ort::Ort, trt::Trt};

/// Why the backend of a variant cannot be opened on this machine, which is not a statement about its correctness.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A library was not found.
    #[error(transparent)]
    Library(#[from] twinfer_libraries::Error),
    /// A library was found and cannot be loaded.
    #[error("cannot load {path}: {reason}")]
    Load {
        /// The file that was tried.
        path: String,
        /// The error of the loader or the library.
        reason: String,
    },
    /// An execution provider did not register.
    #[error(
        "execution provider {provider} did not register: {reason}; run `twinfer backends doctor` to see what is missing"
    )]
    Provider {
        /// Its name.
        provider: &'static str,
        /// The error of ONNX Runtime.
        reason: String,
    },
    /// The variant has an option that its backend does not take.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// An external backend is a separate program and is not opened inside a worker.
    #[error("{0} is a separate program: start it as a worker")]
    External(String),
    /// TensorRT does not load, or needs a GPU that is not there.
    #[error(transparent)]
    TensorRt(#[from] nvinfer::Error),
    /// The GPU cannot be used.
    #[error("cannot use CUDA device {device}: {reason}")]
    Cuda {
        /// Its number.
        device: usize,
        /// The error of the CUDA driver.
        reason: String,
    },
}

/// Loads the libraries of `variant` and opens its backend, ready for cases.
pub fn open(variant: &Variant) -> Result<Box<dyn Backend>, OpenError> {
    open_watched(variant, &mut |_| {})
}

/// The location of a backend's CUDA runtime, before it is called for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaRuntime<'a> {
    /// In the library of this file, which is loaded.
    In(&'a Path),
    /// In the library of this name, which the dynamic loader finds and may not have loaded yet.
    Named(&'a str),
}

/// As [`open`]; calls `found` with every CUDA runtime of the backend before its first use.
pub fn open_watched(
    variant: &Variant,
    found: &mut dyn FnMut(CudaRuntime<'_>),
) -> Result<Box<dyn Backend>, OpenError> {
    use twinfer_case::BackendName;
    match &variant.backend {
        BackendName::Golden => Ok(Box::new(Golden::open(variant)?)),
        BackendName::OrtCpu | BackendName::OrtCuda => Ok(Box::new(Ort::open(variant, found)?)),
        BackendName::Trt | BackendName::TrtApi | BackendName::TrtRtx => {
            Ok(Box::new(Trt::open(variant, found)?))
        }
        BackendName::External(_) => Err(OpenError::External(variant.backend.to_string())),
    }
}
