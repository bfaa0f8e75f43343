use twinfer_case::Variant;

use crate::{
    Backend, Host, OpenError,
    golden::Golden,
    host::PlainHost,
    ort::Ort,
    trt::{PlanRunner, Trt},
};

/// Loads the libraries of `variant` and opens its backend, ready for cases. Nothing is done with its CUDA memory, whatever the
/// variant's option `memory` says.
pub fn open(variant: &Variant) -> Result<Box<dyn Backend>, OpenError> {
    open_in(variant, &mut PlainHost)
}

/// As [`open`], in a process that is `host`.
pub fn open_in(variant: &Variant, host: &mut dyn Host) -> Result<Box<dyn Backend>, OpenError> {
    use twinfer_case::BackendName;
    match &variant.backend {
        BackendName::Golden => Ok(Box::new(Golden::open(variant)?)),
        BackendName::OrtCpu
        | BackendName::OrtCuda
        | BackendName::OrtOpenVino
        | BackendName::OrtTensorRtRtx
        | BackendName::OrtWebGpu => Ok(Box::new(Ort::open(variant, host)?)),
        BackendName::Trt | BackendName::TrtApi | BackendName::TrtRtx => {
            Ok(Box::new(Trt::open(variant, host)?))
        }
        BackendName::OpenVino
        | BackendName::OnnxReference
        | BackendName::Tract
        | BackendName::Mnn
        | BackendName::TorchTensorRt
        | BackendName::Rten
        | BackendName::External(_) => Err(OpenError::External(variant.backend.to_string())),
    }
}

/// Loads the lean runtime of `variant`, in the process that [`Host::start_plan_runner`] starts. The backend runs the plans that the
/// process of the variant itself builds, which it gets in place of models.
pub fn open_plan_runner(variant: &Variant, host: &mut dyn Host) -> Result<Box<dyn Backend>, OpenError> {
    Ok(Box::new(PlanRunner::open(variant, host)?))
}
