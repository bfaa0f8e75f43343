use std::fmt;

use serde::{Deserialize, Serialize};

/// A product whose libraries can be installed, in any version.
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
    /// TensorRT's lean runtime, `libnvinfer_lean`: it runs version-compatible engines of other releases, and a builder of its own
    /// release copies it into them.
    TensorrtLean,
    /// NVIDIA's compute-sanitizer, a program that watches what kernels do with memory. No backend loads it.
    ComputeSanitizer,
    /// OpenVINO as an execution provider that ONNX Runtime loads as a plugin.
    #[serde(rename = "onnxruntime-ep-openvino")]
    OnnxruntimeEpOpenVino,
    /// TensorRT-RTX as an execution provider that ONNX Runtime loads as a plugin.
    #[serde(rename = "onnxruntime-ep-nv-tensorrt-rtx")]
    OnnxruntimeEpTensorrtRtx,
    /// WebGPU as an execution provider that ONNX Runtime loads as a plugin.
    #[serde(rename = "onnxruntime-ep-webgpu")]
    OnnxruntimeEpWebGpu,
    /// OpenVINO's Python package.
    #[serde(rename = "openvino")]
    OpenVino,
    /// The Python package `onnx`, whose reference evaluator runs models.
    OnnxReference,
    /// tract's Python package.
    Tract,
    /// MNN's Python package, with its converter.
    Mnn,
    /// Torch-TensorRT's Python package, with PyTorch and TensorRT.
    #[serde(rename = "torch-tensorrt")]
    TorchTensorRt,
}

impl Product {
    /// All products, most specific first: a folder of ONNX Runtime with the CUDA provider also holds ONNX Runtime, and one of
    /// TensorRT its lean runtime.
    const ALL: [Self; 14] = [
        Self::OnnxruntimeCuda,
        Self::Onnxruntime,
        Self::OnnxruntimeEpOpenVino,
        Self::OnnxruntimeEpTensorrtRtx,
        Self::OnnxruntimeEpWebGpu,
        Self::Tensorrt,
        Self::TensorrtRtx,
        Self::TensorrtLean,
        Self::ComputeSanitizer,
        Self::OpenVino,
        Self::OnnxReference,
        Self::Tract,
        Self::Mnn,
        Self::TorchTensorRt,
    ];

    /// The products that are recognized by the names of their files, in the same order.
    fn with_files() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|product| !product.required_stems().is_empty())
    }

    /// The product called `name`; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|product| product.to_string() == name)
    }

    /// The prefixes of the files that make up the product, that of the library to load first. A folder holds the product
    /// if each is present. Empty for a Python package, which is installed with the packages that it needs.
    pub(crate) const fn required_stems(self) -> &'static [&'static str] {
        match self {
            Self::Onnxruntime => &["libonnxruntime.so"],
            Self::OnnxruntimeCuda => &[
                "libonnxruntime.so",
                "libonnxruntime_providers_shared.so",
                "libonnxruntime_providers_cuda.so",
            ],
            Self::OnnxruntimeEpOpenVino => &["libonnxruntime_providers_openvino_plugin.so"],
            Self::OnnxruntimeEpTensorrtRtx => &["libonnxruntime_providers_nv_tensorrt_rtx.so"],
            Self::OnnxruntimeEpWebGpu => &["libonnxruntime_providers_webgpu.so"],
            Self::Tensorrt => &["libnvinfer.so", "libnvonnxparser.so"],
            Self::TensorrtRtx => &["libtensorrt_rtx.so", "libtensorrt_onnxparser_rtx.so"],
            Self::TensorrtLean => &["libnvinfer_lean.so"],
            Self::ComputeSanitizer => &["compute-sanitizer", "libsanitizer-collection.so"],
            Self::OpenVino | Self::OnnxReference | Self::Tract | Self::Mnn | Self::TorchTensorRt => &[],
        }
    }

    /// The prefixes of files that the required ones link, which not every distribution has.
    pub(crate) const fn optional_stems(self) -> &'static [&'static str] {
        match self {
            Self::Tensorrt => &["libnvinfer_plugin.so"],
            Self::OnnxruntimeEpOpenVino => &[
                "libopenvino.so",
                "libopenvino_onnx_frontend.so",
                "libopenvino_ir_frontend.so",
                "libopenvino_intel_cpu_plugin.so",
                "libtbb.so",
            ],
            Self::OnnxruntimeEpTensorrtRtx => &[
                "libtensorrt_rtx.so",
                "libtensorrt_onnxparser_rtx.so",
                "libtensorrt_plugins.so",
                "libtensorrt_shim.so",
                "libcudart.so",
            ],
            // plugins are looked for through it before 1.23
            Self::Onnxruntime => &["libonnxruntime_providers_shared.so"],
            Self::OnnxruntimeCuda
            | Self::OnnxruntimeEpWebGpu
            | Self::TensorrtRtx
            | Self::TensorrtLean
            | Self::ComputeSanitizer
            | Self::OpenVino
            | Self::OnnxReference
            | Self::Tract
            | Self::Mnn
            | Self::TorchTensorRt => &[],
        }
    }

    /// Whether this is an execution provider that ONNX Runtime loads as a plugin.
    pub const fn is_plugin(self) -> bool {
        matches!(
            self,
            Self::OnnxruntimeEpOpenVino | Self::OnnxruntimeEpTensorrtRtx | Self::OnnxruntimeEpWebGpu
        )
    }

    /// The name by which a TensorRT builder opens the lean runtime of its release, which packages do not give the file; `None` for
    /// another product, and for a `version` of fewer than three numbers.
    pub(crate) fn name_for_builders(self, version: &str) -> Option<String> {
        let numbers: Vec<&str> = version.split('.').take(3).collect();
        (self == Self::TensorrtLean && numbers.len() == 3)
            .then(|| format!("{}.{}", self.required_stems()[0], numbers.join(".")))
    }

    /// The files that make a folder one of a product, in words: `libx.so, or liby.so with libz.so`. Products that extend
    /// another are left out.
    pub(crate) fn files_in_words() -> String {
        let extends = |this: Self, other: Self| {
            this != other && other.required_stems().iter().all(|stem| this.required_stems().contains(stem))
        };
        let is_plain = |this: &Self| !Self::with_files().any(|other| extends(*this, other));
        let words = |product: Self| match product.required_stems() {
            [first, rest @ ..] if !rest.is_empty() => format!("{first} with {}", rest.join(" and ")),
            stems => stems.concat(),
        };
        Self::with_files().filter(is_plain).map(words).collect::<Vec<_>>().join(", or ")
    }

    /// The most specific product that the files `names` make up; `None` if they make up none.
    pub(crate) fn of_files(names: &[String]) -> Option<Self> {
        let present = |stem: &&str| names.iter().any(|name| is_version_of(name, stem));
        Self::with_files().find(|product| product.required_stems().iter().all(present))
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Onnxruntime => "onnxruntime",
            Self::OnnxruntimeCuda => "onnxruntime-cuda",
            Self::Tensorrt => "tensorrt",
            Self::TensorrtRtx => "tensorrt-rtx",
            Self::TensorrtLean => "tensorrt-lean",
            Self::ComputeSanitizer => "compute-sanitizer",
            Self::OnnxruntimeEpOpenVino => "onnxruntime-ep-openvino",
            Self::OnnxruntimeEpTensorrtRtx => "onnxruntime-ep-nv-tensorrt-rtx",
            Self::OnnxruntimeEpWebGpu => "onnxruntime-ep-webgpu",
            Self::OpenVino => "openvino",
            Self::OnnxReference => "onnx-reference",
            Self::Tract => "tract",
            Self::Mnn => "mnn",
            Self::TorchTensorRt => "torch-tensorrt",
        })
    }
}

/// Whether a file name is `stem`, such as `libx.so`, or `stem` followed by a version: `libx.so.1.2`.
pub fn is_version_of(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::{Product, is_version_of};

    #[test]
    fn builders_open_a_lean_runtime_by_the_numbers_of_their_release() {
        let name = |product: Product, version| product.name_for_builders(version);
        let lean = Product::TensorrtLean;
        assert_eq!(name(lean, "8.6.0").as_deref(), Some("libnvinfer_lean.so.8.6.0"));
        assert_eq!(name(lean, "10.16.1.11").as_deref(), Some("libnvinfer_lean.so.10.16.1"));
        assert_eq!((name(lean, "10"), name(Product::Tensorrt, "8.6.0")), (None, None));
    }

    #[test]
    fn versioned_file_name_has_numbers_after_the_stem() {
        let is_runtime = |file: &str| is_version_of(file, "libcudart.so.13");
        assert!(["libcudart.so.13", "libcudart.so.13.0.96"].into_iter().all(is_runtime));
        assert!(!["libcudart.so.130", "libcudart.so.12", "xlibcudart.so.13"].into_iter().any(is_runtime));
    }
}
