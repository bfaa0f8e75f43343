use std::{env, ffi::OsString, path::PathBuf};

use twinfer_case::{BackendName, OptionKey, Variant};

/// The variable that names ONNX Runtime's library, as the crate `ort` reads it.
pub(crate) const ORT_VARIABLE: &str = "ORT_DYLIB_PATH";

/// The file or folder from which a variant loads its library, as its option `lib` or the environment says; `None` if it loads an
/// installed one, or none.
pub fn given_library(variant: &Variant) -> Option<PathBuf> {
    given(variant, env::var_os(ORT_VARIABLE))
}

fn given(variant: &Variant, ort: Option<OsString>) -> Option<PathBuf> {
    let names_release = variant.options.contains_key(OptionKey::Version.key());
    let ort = match variant.backend {
        _ if names_release => None,
        BackendName::OrtCpu
        | BackendName::OrtCuda
        | BackendName::OrtOpenVino
        | BackendName::OrtTensorRtRtx
        | BackendName::OrtWebGpu => ort.map(PathBuf::from),
        BackendName::Golden
        | BackendName::Trt
        | BackendName::TrtApi
        | BackendName::TrtRtx
        | BackendName::OpenVino
        | BackendName::OnnxReference
        | BackendName::Tract
        | BackendName::Mnn
        | BackendName::TorchTensorRt
        | BackendName::Rten
        | BackendName::External(_) => None,
    };
    let option = variant.options.get(OptionKey::Library.key()).filter(|_| loads_library(&variant.backend));
    option.map(PathBuf::from).or(ort)
}

/// Whether the backend loads a library into its worker, so that its variants have the option `lib`.
fn loads_library(backend: &BackendName) -> bool {
    backend.library().is_some() && !backend.has_adapter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variant: &str) -> Option<PathBuf> {
        given(&variant.parse().unwrap(), Some("/env/libonnxruntime.so".into()))
    }

    #[test]
    fn option_comes_before_the_variable() {
        assert_eq!(of("ort:cpu,lib=/opt/libonnxruntime.so"), Some("/opt/libonnxruntime.so".into()));
        assert_eq!(of("ort:cpu"), Some("/env/libonnxruntime.so".into()));
    }

    #[test]
    fn named_release_comes_before_the_variable() {
        assert_eq!(of("ort:cpu,version=1.22"), None);
    }

    #[test]
    fn variable_concerns_onnx_runtime_only() {
        assert_eq!(of("trt,lib=/opt/tensorrt"), Some("/opt/tensorrt".into()));
        assert!(
            ["trt", "trt-rtx", "golden", "openvino,lib=x", "external:./adapter.py,lib=x"]
                .iter()
                .all(|one| of(one).is_none())
        );
    }
}
