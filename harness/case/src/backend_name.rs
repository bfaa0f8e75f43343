//! The backends by name, and what is known of each before its worker starts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether a backend needs a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceNeed {
    /// It computes on the CPU.
    Never,
    /// It builds on any machine, and executes only on one with a GPU.
    ToExecute,
    /// Its worker does not start without a GPU.
    Always,
    /// It may use a GPU: a program of the user's, or a backend whose options decide.
    Unknown,
}

/// A program that is the worker of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name of its file.
    pub name: &'static str,
    /// The command that installs it, in twinfer's repository.
    pub install: &'static str,
}

/// What is known of a backend before its worker starts.
struct Facts {
    library: Option<&'static str>,
    device: DeviceNeed,
}

/// Declares the backends of this repository, a row each.
macro_rules! backends {
    ($($(#[doc = $doc:literal])* $backend:ident: $name:literal, $library:expr, $device:ident;)*) => {
        /// Something that takes an ONNX model and inputs and answers with an observation.
        ///
        /// Written as `--backends` takes it: `ort:cpu`, `external:./adapter.py`.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub enum BackendName {
            $($(#[doc = $doc])* $backend,)*
            /// Any program that speaks the worker protocol: `external:CMD`.
            External(String),
        }

        impl BackendName {
            /// Every backend of this repository.
            pub const BUILT_IN: &'static [Self] = &[$(Self::$backend),*];

            /// The backend's name without a command, so that it is safe to show and to store: `external` for every
            /// external program.
            pub const fn label(&self) -> &'static str {
                match self {
                    $(Self::$backend => $name,)*
                    Self::External(_) => "external",
                }
            }

            const fn facts(&self) -> Facts {
                match self {
                    $(Self::$backend => Facts { library: $library, device: DeviceNeed::$device },)*
                    Self::External(_) => Facts { library: None, device: DeviceNeed::Unknown },
                }
            }
        }
    };
}

backends! {
    /// The reference, in process.
    Golden: "golden", None, Never;
    /// ONNX Runtime's CPU execution provider.
    OrtCpu: "ort:cpu", Some("onnxruntime"), Never;
    /// ONNX Runtime's CUDA execution provider.
    OrtCuda: "ort:cuda", Some("onnxruntime-cuda"), Always;
    /// ONNX Runtime with OpenVINO's plugin execution provider, on the CPU.
    OrtOpenVino: "ort:ep=openvino", Some("onnxruntime"), Never;
    /// ONNX Runtime with the plugin execution provider of TensorRT-RTX.
    OrtTensorRtRtx: "ort:ep=nv-tensorrt-rtx", Some("onnxruntime"), Always;
    /// ONNX Runtime with the plugin execution provider of WebGPU.
    OrtWebGpu: "ort:ep=webgpu", Some("onnxruntime"), Unknown;
    /// TensorRT through its ONNX parser.
    Trt: "trt", Some("tensorrt"), Always;
    /// TensorRT with the network built layer by layer.
    TrtApi: "trt-api", Some("tensorrt"), Always;
    /// TensorRT-RTX through its ONNX parser.
    TrtRtx: "trt-rtx", Some("tensorrt-rtx"), ToExecute;
    /// OpenVINO with its CPU plugin, as a Python package.
    OpenVino: "openvino", Some("openvino"), Never;
    /// The reference evaluator of the Python package `onnx`.
    OnnxReference: "onnx-reference", Some("onnx-reference"), Never;
    /// tract, as a Python package.
    Tract: "tract", Some("tract"), Never;
    /// MNN with its converter, as a Python package.
    Mnn: "mnn", Some("mnn"), Never;
    /// Torch-TensorRT, or PyTorch alone on the CPU, as Python packages.
    TorchTensorRt: "torch-tensorrt", Some("torch-tensorrt"), Unknown;
    /// rten, in a program of its own.
    Rten: "rten", None, Never;
}

impl BackendName {
    /// Whether the backend builds an engine for each case and tries kernels on a GPU for it, which takes a tenth of a second at
    /// least.
    pub const fn builds_engines(&self) -> bool {
        matches!(self, Self::Trt | Self::TrtApi)
    }

    /// Whether a run of a case takes more than 20 ms as a rule, nearly all of it to build or compile the model. A campaign leaves experiments
    /// of hundreds of runs to `twinfer explain` then.
    pub const fn is_slow(&self) -> bool {
        self.builds_engines() || matches!(self, Self::TrtRtx | Self::TorchTensorRt | Self::OpenVino)
    }

    /// Whether the backend is a Python package: its worker is the adapter in the package's environment.
    pub const fn has_adapter(&self) -> bool {
        matches!(self, Self::OpenVino | Self::OnnxReference | Self::Tract | Self::Mnn | Self::TorchTensorRt)
    }

    /// The program that is the backend's worker, which users install themselves; `None` if the worker is another one.
    pub const fn program(&self) -> Option<Program> {
        match self {
            Self::Rten => {
                Some(Program { name: "twinfer-rten", install: "cargo install --locked --path adapters/rten" })
            }
            Self::OrtOpenVino | Self::OrtTensorRtRtx | Self::OrtWebGpu => Some(Program {
                name: "twinfer-ort-plugins",
                install: "cargo install --locked --path harness/worker --features ort-plugins",
            }),
            _ => None,
        }
    }

    /// Whether the backend's worker is another program than twinfer.
    pub const fn has_own_program(&self) -> bool {
        self.has_adapter() || self.program().is_some() || matches!(self, Self::External(_))
    }

    /// The product with the execution provider that ONNX Runtime loads as a plugin, by its name in `twinfer backends list`; `None`
    /// for other backends.
    pub const fn plugin(&self) -> Option<&'static str> {
        match self {
            Self::OrtOpenVino => Some("onnxruntime-ep-openvino"),
            Self::OrtTensorRtRtx => Some("onnxruntime-ep-nv-tensorrt-rtx"),
            Self::OrtWebGpu => Some("onnxruntime-ep-webgpu"),
            _ => None,
        }
    }

    /// The product that the backend loads, by its name in `twinfer backends list`; `None` if the backend loads none
    /// that twinfer installs.
    pub const fn library(&self) -> Option<&'static str> {
        self.facts().library
    }

    /// The backends that load `library`, a product's name. Those that need a [plugin](Self::plugin) beside it are among those of the
    /// plugin.
    pub fn with_library(library: &str) -> impl Iterator<Item = &'static Self> {
        Self::BUILT_IN.iter().filter(move |backend| backend.plugin().or(backend.library()) == Some(library))
    }

    /// Whether the backend needs a GPU.
    pub const fn device_need(&self) -> DeviceNeed {
        self.facts().device
    }

    /// Whether the backend loads a CUDA runtime, so that its variants have the option `memory`.
    pub const fn loads_cuda_runtime(&self) -> bool {
        match self.device_need() {
            DeviceNeed::ToExecute | DeviceNeed::Always => self.plugin().is_none(),
            DeviceNeed::Never | DeviceNeed::Unknown => false,
        }
    }

    /// Whether each worker of the backend is assigned to one of the devices that `--devices` names.
    pub fn is_pinned_to_device(&self) -> bool {
        self.device_need() != DeviceNeed::Never
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())?;
        match self {
            Self::External(command) => write!(f, ":{command}"),
            _ => Ok(()),
        }
    }
}

/// Names by which users know backends that are called otherwise here, beside the names themselves.
const ALIASES: [(&str, BackendName); 4] = [
    ("tensorrt", BackendName::Trt),
    ("tensorrt-rtx", BackendName::TrtRtx),
    ("onnxruntime", BackendName::OrtCpu),
    ("ort", BackendName::OrtCpu),
];

/// How alike a word and a name are at least for the name to be suggested, from 0 to 1.
const ALIKE: f64 = 0.85;

/// What to give instead of the name `unknown`, for an error message: the most similar name, then all of them.
pub(crate) fn suggestion(unknown: &str) -> String {
    let named = BackendName::BUILT_IN.iter().map(|backend| (backend.label(), backend));
    let names = named.chain(ALIASES.iter().map(|(name, backend)| (*name, backend)));
    let unknown = unknown.to_lowercase().replace('_', "-");
    let alike = names.map(|(name, backend)| (strsim::jaro_winkler(name, &unknown), backend.label()));
    let most_alike = alike
        .filter(|(similarity, _)| *similarity >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let question = most_alike.map(|(_, name)| format!("did you mean {name}? "));
    let names: Vec<_> = BackendName::BUILT_IN.iter().map(BackendName::label).collect();
    format!("{}use one of {}, external:CMD", question.unwrap_or_default(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_backend_is_read_by_its_name() {
        for backend in BackendName::BUILT_IN {
            assert_eq!(backend.label().parse().as_ref(), Ok(backend));
        }
        assert!("external:".parse::<BackendName>().is_err() && "external".parse::<BackendName>().is_err());
    }

    #[test]
    fn an_external_command_is_kept_and_left_out_of_the_name() {
        let backend: BackendName = "external:./adapter.py --fast".parse().unwrap();
        assert_eq!(
            (backend.to_string().as_str(), backend.label()),
            ("external:./adapter.py --fast", "external")
        );
    }

    #[test]
    fn misspelled_backends_are_answered_with_the_most_similar_name() {
        let meant = [
            ("ort:cpy", "ort:cpu"),
            ("trt_rtx", "trt-rtx"),
            ("tensorrt-rtx", "trt-rtx"),
            ("TensorRT", "trt"),
            ("onnxruntime", "ort:cpu"),
            ("openvno", "openvino"),
        ];
        for (given, meant) in meant {
            let error = given.parse::<BackendName>().unwrap_err().to_string();
            assert!(error.contains(&format!(": did you mean {meant}? use one of ")), "{error}");
        }
    }

    #[test]
    fn an_unknown_backend_is_answered_with_all_names() {
        let error = "tvm".parse::<BackendName>().unwrap_err().to_string();
        assert_eq!(
            error,
            r#"unknown backend "tvm": use one of golden, ort:cpu, ort:cuda, ort:ep=openvino, ort:ep=nv-tensorrt-rtx, ort:ep=webgpu, trt, trt-api, trt-rtx, openvino, onnx-reference, tract, mnn, torch-tensorrt, rten, external:CMD"#
        );
    }
}
