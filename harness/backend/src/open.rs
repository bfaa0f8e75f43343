use twinfer_case::Variant;

use crate::{Backend, CudaRuntimeFound, OpenError, golden::Golden, ort::Ort, trt::Trt};

/// Loads the libraries of `variant` and opens its backend, ready for cases. Nothing is done with its CUDA memory, whatever the
/// variant's option `memory` says.
pub fn open(variant: &Variant) -> Result<Box<dyn Backend>, OpenError> {
    open_watched(variant, &mut |_| Ok(()))
}

/// As [`open`]; calls `found` with every CUDA runtime of the backend before its first use.
pub fn open_watched(
    variant: &Variant,
    found: &mut CudaRuntimeFound<'_>,
) -> Result<Box<dyn Backend>, OpenError> {
    use twinfer_case::BackendName;
    match &variant.backend {
        BackendName::Golden => Ok(Box::new(Golden::open(variant)?)),
        BackendName::OrtCpu | BackendName::OrtCuda => Ok(Box::new(Ort::open(variant, found)?)),
        BackendName::Trt | BackendName::TrtApi | BackendName::TrtRtx => {
            Ok(Box::new(Trt::open(variant, found)?))
        }
        BackendName::OpenVino
        | BackendName::OnnxReference
        | BackendName::Tract
        | BackendName::TorchTensorRt
        | BackendName::Rten
        | BackendName::External(_) => Err(OpenError::External(variant.backend.to_string())),
    }
}
