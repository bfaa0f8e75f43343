//! Execution providers that ONNX Runtime loads as plugins: what each is called, and where its library is.

use std::path::PathBuf;

use twinfer_case::BackendName;
use twinfer_libraries::Store;

use crate::OpenError;

/// The first minor release of ONNX Runtime 1 that loads plugins.
const FIRST_MINOR: u32 = 22;

/// What is known of an execution provider before its library is loaded, and the device that is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// The name of the execution provider.
    pub provider: &'static str,
    /// The product, by its name in `twinfer backends list`.
    pub product: &'static str,
    /// Whether it computes on a GPU; otherwise on the CPU.
    pub is_for_gpu: bool,
    /// The place of the chosen device among those of that kind.
    pub place: usize,
    /// The provider's own options.
    pub options: &'static [(&'static str, &'static str)],
    /// What it needs of a machine.
    pub needs: &'static str,
}

const OPENVINO: Plugin = Plugin {
    provider: "OpenVINOExecutionProvider",
    product: "onnxruntime-ep-openvino",
    is_for_gpu: false,
    place: 0,
    // one thread and one stream, because workers are processes; without the hint 32-bit floats may be computed in bfloat16
    options: &[(
        "load_config",
        r#"{"CPU":{"INFERENCE_PRECISION_HINT":"f32","INFERENCE_NUM_THREADS":"1","NUM_STREAMS":"1"}}"#,
    )],
    needs: "a processor made by Intel",
};

const TENSORRT_RTX: Plugin = Plugin {
    provider: "NvTensorRTRTXExecutionProvider",
    product: "onnxruntime-ep-nv-tensorrt-rtx",
    is_for_gpu: true,
    place: 0,
    options: &[],
    needs: "an NVIDIA GPU that TensorRT-RTX supports",
};

const WEBGPU: Plugin = Plugin {
    provider: "WebGpuExecutionProvider",
    product: "onnxruntime-ep-webgpu",
    is_for_gpu: true,
    place: 0,
    options: &[],
    needs: "a GPU with a driver for Vulkan",
};

impl Plugin {
    /// The provider of a backend with the device at `place`; `None` if the backend's provider is no plugin.
    pub fn of(backend: &BackendName, place: usize) -> Option<Self> {
        let product = backend.plugin()?;
        let known = [OPENVINO, TENSORRT_RTX, WEBGPU].into_iter().find(|plugin| plugin.product == product)?;
        Some(Self { place, ..known })
    }
}

/// The library of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginLibrary {
    /// Its file.
    pub path: PathBuf,
    /// Its version; `None` if the variant names the file.
    version: Option<String>,
}

impl PluginLibrary {
    /// The library that the variant's option names, or the installed one, for this release of ONNX Runtime.
    pub fn locate(plugin: Plugin, option: PathBuf, release: &str) -> Result<Self, OpenError> {
        if !loads_plugins(release) {
            return Err(OpenError::TooOldForPlugins { version: release.to_owned() });
        }
        if !option.as_os_str().is_empty() {
            return Ok(Self { path: option, version: None });
        }
        let installed = Store::open()?.find(plugin.product)?;
        Ok(Self { path: installed.library().to_owned(), version: Some(installed.version) })
    }

    /// The name of the provider with the version of the library.
    pub fn described(&self, provider: &str) -> String {
        match &self.version {
            Some(version) => format!("{provider} {version}"),
            None => provider.to_owned(),
        }
    }
}

/// Whether a release loads plugins. One that is not known may.
fn loads_plugins(release: &str) -> bool {
    let mut numbers = release.split('.').map(str::parse::<u32>);
    !matches!((numbers.next(), numbers.next()), (Some(Ok(1)), Some(Ok(..FIRST_MINOR))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_with_a_plugin_is_known() {
        for backend in BackendName::BUILT_IN {
            let plugin = Plugin::of(backend, 3);
            assert_eq!(plugin.map(|plugin| plugin.product), backend.plugin(), "{backend}");
            assert!(plugin.is_none_or(|plugin| plugin.place == 3));
        }
    }

    #[test]
    fn releases_before_plugins_are_refused() {
        let located = |release| PluginLibrary::locate(OPENVINO, "plugin.so".into(), release);
        assert_eq!(
            located("1.17.3").unwrap_err().to_string(),
            "ONNX Runtime 1.17.3 loads no plugins: use a release from 1.22 on, such as version=1.31"
        );
        for release in ["1.22.0", "1.31.1", "2.0.0", ""] {
            assert_eq!(located(release).unwrap().described("Provider"), "Provider", "{release}");
        }
    }
}
