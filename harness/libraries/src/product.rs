use std::fmt;

use serde::{Deserialize, Serialize};

/// What a set of libraries is, whichever its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// ONNX Runtime with its CPU provider.
    Onnxruntime,
    /// ONNX Runtime with its CUDA provider beside it.
    OnnxruntimeCuda,
    /// TensorRT: `libnvinfer` and `libnvonnxparser`.
    Tensorrt,
    /// TensorRT-RTX: `libtensorrt_rtx` and `libtensorrt_onnxparser_rtx`.
    TensorrtRtx,
}

impl Product {
    /// Most specific first: ONNX Runtime with the CUDA provider is also ONNX Runtime.
    const ALL: [Self; 4] = [Self::OnnxruntimeCuda, Self::Onnxruntime, Self::Tensorrt, Self::TensorrtRtx];

    /// How the files that make it up begin; a folder holds the product when each is present.
    pub(crate) const fn required_stems(self) -> &'static [&'static str] {
        match self {
            Self::Onnxruntime => &["libonnxruntime.so"],
            Self::OnnxruntimeCuda => &[
                "libonnxruntime.so",
                "libonnxruntime_providers_shared.so",
                "libonnxruntime_providers_cuda.so",
            ],
            Self::Tensorrt => &["libnvinfer.so", "libnvonnxparser.so"],
            Self::TensorrtRtx => &["libtensorrt_rtx.so", "libtensorrt_onnxparser_rtx.so"],
        }
    }

    /// How the files begin that the others link, where a distribution has them.
    pub(crate) const fn optional_stems(self) -> &'static [&'static str] {
        match self {
            Self::Tensorrt => &["libnvinfer_plugin.so"],
            Self::Onnxruntime | Self::OnnxruntimeCuda | Self::TensorrtRtx => &[],
        }
    }

    /// The product whose files these are.
    pub(crate) fn of_files(names: &[String]) -> Option<Self> {
        let present = |stem: &&str| names.iter().any(|name| is_version_of(name, stem));
        Self::ALL.into_iter().find(|product| product.required_stems().iter().all(present))
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Onnxruntime => "onnxruntime",
            Self::OnnxruntimeCuda => "onnxruntime-cuda",
            Self::Tensorrt => "tensorrt",
            Self::TensorrtRtx => "tensorrt-rtx",
        })
    }
}

/// Whether a file is called `stem`, such as `libx.so`, or that with numbers behind it: `libx.so.1.2`.
pub fn is_version_of(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::is_version_of;

    #[test]
    fn a_version_has_more_numbers_behind_the_name() {
        let is_runtime = |file: &str| is_version_of(file, "libcudart.so.13");
        assert!(["libcudart.so.13", "libcudart.so.13.0.96"].into_iter().all(is_runtime));
        assert!(!["libcudart.so.130", "libcudart.so.12", "xlibcudart.so.13"].into_iter().any(is_runtime));
    }
}
