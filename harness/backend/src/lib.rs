//! Backends: what takes an ONNX model and inputs and answers with an observation.
//!
//! A [`Backend`] lives in a worker process, serves one variant and stays warm from case to case. It never decides
//! whether an answer is right, and anything that goes wrong inside it is part of the observation. One file a
//! backend; [`open`] makes one of a variant.

mod golden;
mod hazard;
mod open;
mod options;
mod ort;
mod recorder;
mod trt;

pub use open::{CudaRuntime, OpenError, open, open_watched};
pub use options::InvalidOption;
pub use recorder::Recorder;
pub use trt::{has_cuda_device, is_mps_serving, processes_a_device};

use twinfer_case::{Description, DeviceMemory, Observation, Stage, Task};

/// Something that takes an ONNX model and inputs and answers with an observation.
pub trait Backend {
    /// Its own name and version, and the limits that it states about itself.
    fn describe(&self) -> Description;

    /// Takes `task` as far as it can and tells `progress` about every stage before entering it.
    fn run(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Observation;

    /// Whether what it keeps between cases is lost, so that no later case can be blamed for what it does: a CUDA context
    /// that has met an illegal address, for instance, fails every call from then on.
    fn is_lost(&self) -> bool {
        false
    }

    /// The memory of the device that it uses, if any.
    fn device_memory(&self) -> Option<DeviceMemory> {
        None
    }
}
