//! Backends: each takes an ONNX model with inputs and answers with an observation.
//!
//! A [`Backend`] lives in a worker process, serves one variant and stays warm from case to case. It never decides
//! whether an answer is right, and anything that goes wrong inside it is part of the observation. One file a
//! backend; [`open`] opens the backend of a variant.
//!
//! ```
//! use twinfer_backend::open;
//!
//! let golden = open(&"golden".parse()?)?;
//! assert_eq!(golden.describe().name, "golden");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cuda_runtime;
mod given_library;
mod golden;
mod hazard;
mod host;
mod open;
mod open_error;
mod options;
mod ort;
mod promise;
mod recorder;
mod step;
mod trt;

pub use cuda_runtime::{CudaRuntime, RuntimeLibrary};
pub use given_library::given_library;
pub use host::Host;
pub use open::{open, open_in, open_plan_runner};
pub use open_error::OpenError;
pub use options::{DRAWN, InvalidOption, ListedOption, ListedValue, options_of, sample_options};
pub use recorder::Recorder;
pub use trt::{MPS_PROCESSES_A_DEVICE, has_cuda_device, is_mps_serving, processes_a_device};

use twinfer_case::{Description, DeviceMemory, Observation, Stage, Task};

/// Something that takes an ONNX model and inputs and answers with an observation.
pub trait Backend {
    /// The backend's name and version, its options and its limits.
    fn describe(&self) -> Description;

    /// Runs `task` as far as it can, and reports every stage to `progress` before entering it.
    fn run(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Observation;

    /// Whether the backend fills output buffers as [the task says](Task::filling) before each run.
    fn fills_outputs(&self) -> bool {
        false
    }

    /// Whether state that the backend keeps between cases is lost, so that later cases would fail through no fault of their
    /// own: after an illegal address, for instance, every call in a CUDA context fails.
    fn is_lost(&self) -> bool {
        false
    }

    /// The memory of the device that the backend uses; `None` if it uses none.
    fn device_memory(&self) -> Option<DeviceMemory> {
        None
    }
}
