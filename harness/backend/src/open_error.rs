use twinfer_case::MemoryMode;

use crate::{options::InvalidOption, trt::MPS_PROCESSES_A_DEVICE as PROCESSES_A_DEVICE};

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
    /// ONNX Runtime is older than plugins.
    #[error("ONNX Runtime {version} loads no plugins: use a release from 1.22 on, such as version=1.31")]
    TooOldForPlugins {
        /// Its release.
        version: String,
    },
    /// ONNX Runtime does not load a plugin.
    #[error("ONNX Runtime does not load the plugin {path}: {reason}")]
    Plugin {
        /// The plugin.
        path: String,
        /// The error of ONNX Runtime.
        reason: String,
    },
    /// The execution provider of a plugin has no device, or not as many.
    #[error("the plugin {path} is registered, and {provider} {found} on this machine: it needs {needs}")]
    NoDevice {
        /// The plugin.
        path: String,
        /// The name of the execution provider.
        provider: &'static str,
        /// How many devices it has, as a verb phrase.
        found: String,
        /// What it needs.
        needs: &'static str,
    },
    /// The program was built for ONNX Runtime before plugins.
    #[error("this program loads no plugins of ONNX Runtime: twinfer-ort-plugins does")]
    NoPlugins,
    /// The variant has an option that its backend does not take.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// An external backend or an adapter is a separate program and is not opened inside a worker.
    #[error("{0} runs in a program of its own, which cannot be opened in this process")]
    External(String),
    /// TensorRT does not load, or needs a GPU that is not there.
    #[error(transparent)]
    TensorRt(#[from] nvinfer::Error),
    /// The variant's option `memory` cannot be kept.
    #[error("cannot keep memory={memory} for {library}: {reason}")]
    Memory {
        /// What the variant wants done with its memory.
        memory: MemoryMode,
        /// The library that contains the CUDA runtime.
        library: String,
        /// Why that is not possible.
        reason: String,
    },
    /// The process that runs the variant's engines does not work.
    #[error("the process of the lean runtime: {reason}")]
    PlanRunner {
        /// Why.
        reason: String,
    },
    /// NVIDIA's multi-process service has no place for another process on the GPU.
    #[error(
        "CUDA device {device} serves no further process: those of this program and of others take all {PROCESSES_A_DEVICE} places of NVIDIA's multi-process service"
    )]
    FullDevice {
        /// Its number.
        device: usize,
    },
    /// The GPU cannot be used.
    #[error("cannot use CUDA device {device}: {reason}")]
    Cuda {
        /// Its number.
        device: usize,
        /// The error of the CUDA driver.
        reason: String,
    },
}
