//! The Python package that runs a model as a variant ran it.

use twinfer_case::{BackendName, Variant};
use twinfer_libraries::{Environment, PACKAGES, PinnedPackage, Product};
use twinfer_store::RecordedObservation;

/// What a variant becomes in a reproduction, which does without twinfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The heading in the README.
    pub title: &'static str,
    /// The packages to install, pinned, as a shell takes them.
    pub packages: Vec<String>,
    /// The arguments of `reproduce.py`.
    pub arguments: Vec<String>,
    /// What the script does in another way than the variant did.
    pub caveat: Option<&'static str>,
}

impl Runtime {
    /// The runtime of a recorded observation; `None` if twinfer's backend is not a public Python package.
    pub fn of(observed: &RecordedObservation) -> Option<Self> {
        let option = |key: &str| observed.variant.options.get(key).map(String::as_str);
        let version = observed.version.version();
        Some(match observed.variant.backend {
            BackendName::OrtCpu => {
                let package = requirement(Product::Onnxruntime, "onnxruntime", version);
                Self::onnxruntime("CPU", package, version, option("opt"))
            }
            BackendName::OrtCuda => {
                let package = requirement(Product::OnnxruntimeCuda, "onnxruntime-gpu", version);
                let package = package.replacen("-gpu", "-gpu[cuda,cudnn]", 1);
                Self::onnxruntime("CUDA", package, version, option("opt"))
            }
            BackendName::OrtOpenVino => Self::plugin(
                "ONNX Runtime with OpenVINO's plugin",
                Product::OnnxruntimeEpOpenVino,
                version,
                option("opt"),
            ),
            BackendName::OrtTensorRtRtx => Self::plugin(
                "ONNX Runtime with TensorRT-RTX's plugin",
                Product::OnnxruntimeEpTensorrtRtx,
                version,
                option("opt"),
            ),
            BackendName::OrtWebGpu => Self::plugin(
                "ONNX Runtime with WebGPU's plugin",
                Product::OnnxruntimeEpWebGpu,
                version,
                option("opt"),
            ),
            BackendName::Trt | BackendName::TrtApi => Self {
                title: "TensorRT",
                packages: vec![requirement(Product::Tensorrt, "tensorrt", version), "polygraphy".to_owned()],
                arguments: tensorrt("tensorrt", option("level")),
                caveat: caveat(&observed.variant),
            },
            BackendName::TrtRtx => Self {
                title: "TensorRT-RTX",
                packages: vec![requirement(Product::TensorrtRtx, "tensorrt-rtx", version).replacen(
                    "-cu13-libs",
                    "",
                    1,
                )],
                arguments: tensorrt("tensorrt_rtx", option("level")),
                caveat: None,
            },
            BackendName::OpenVino => Self::python("OpenVINO", "openvino", Product::OpenVino),
            BackendName::OnnxReference => {
                Self::python("the reference evaluator of onnx", "onnx_reference", Product::OnnxReference)
            }
            BackendName::Tract => Self::python("tract", "tract", Product::Tract),
            BackendName::Mnn => Self::python("MNN", "mnn", Product::Mnn),
            BackendName::TorchTensorRt => Self::torch_tensorrt(option("ir"), option("level")),
            BackendName::Rten => Self {
                title: "rten",
                packages: Vec::new(),
                arguments: vec!["rten".to_owned()],
                caveat: Some(
                    "The script compiles the program in `rten/` with Cargo, which needs Rust 1.94 or later.",
                ),
            },
            BackendName::Golden | BackendName::External(_) => return None,
        })
    }

    /// Torch-TensorRT through one of its front ends, or PyTorch alone. pip finds CUDA's libraries by what PyTorch needs.
    fn torch_tensorrt(front_end: Option<&str>, level: Option<&str>) -> Self {
        let packages =
            Environment::of(Product::TorchTensorRt).map_or(&[][..], |environment| environment.packages);
        let is_named = |package: &&PinnedPackage| {
            ["torch-tensorrt", "torch", "tensorrt", "numpy", "onnx"].contains(&package.distribution)
        };
        let arguments = ["torch_tensorrt", front_end.unwrap_or("dynamo")].into_iter().chain(level);
        Self {
            title: "Torch-TensorRT",
            packages: packages.iter().filter(is_named).map(PinnedPackage::requirement).collect(),
            arguments: arguments.map(str::to_owned).collect(),
            caveat: Some(
                "The packages are for Python 3.10. The files in `converter/` make a module of PyTorch of the model, which the script prints, \
                 and compile it; that needs an NVIDIA GPU, except with `eager`, which runs the module in PyTorch alone.",
            ),
        }
    }

    /// A Python package with all that it needs, as twinfer installs it; `function` of the script runs it.
    fn python(title: &'static str, function: &str, product: Product) -> Self {
        let packages = Environment::of(product).map_or(&[][..], |environment| environment.packages);
        Self {
            title,
            // the README names numpy for every runtime
            packages: packages
                .iter()
                .filter(|package| package.distribution != "numpy")
                .map(PinnedPackage::requirement)
                .collect(),
            arguments: vec![function.to_owned()],
            caveat: None,
        }
    }

    /// ONNX Runtime in this version with the plugin that twinfer installs.
    fn plugin(title: &'static str, product: Product, version: &str, optimization: Option<&str>) -> Self {
        let package = PACKAGES.iter().find(|package| package.product == product);
        let pinned = package.map(|package| format!("{}=={}", package.distribution, package.version));
        Self {
            title,
            packages: ["onnx".to_owned(), requirement(Product::Onnxruntime, "onnxruntime", version)]
                .into_iter()
                .chain(pinned)
                .collect(),
            arguments: vec![
                "plugin".to_owned(),
                product.to_string().replace('-', "_"),
                optimization.unwrap_or("all").to_owned(),
            ],
            caveat: None,
        }
    }

    fn onnxruntime(provider: &str, package: String, version: &str, optimization: Option<&str>) -> Self {
        let numpy = is_built_for_numpy_1(version).then(|| "'numpy<2'".to_owned());
        Self {
            title: if provider == "CPU" { "ONNX Runtime" } else { "ONNX Runtime with CUDA" },
            packages: ["onnx".to_owned(), package].into_iter().chain(numpy).collect(),
            arguments: vec![
                "onnxruntime".to_owned(),
                format!("{provider}ExecutionProvider"),
                optimization.unwrap_or("all").to_owned(),
            ],
            caveat: None,
        }
    }
}

/// What the script does in another way than a variant of TensorRT.
fn caveat(variant: &Variant) -> Option<&'static str> {
    if variant.lean_runtime().is_some() {
        Some(
            "twinfer ran this engine with a lean runtime of TensorRT. The script runs it with the TensorRT that builds it, and may not show the bug.",
        )
    } else {
        (variant.backend == BackendName::TrtApi).then_some(
            "twinfer built this network layer by layer. The script goes through TensorRT's ONNX parser instead, and may not show the bug.",
        )
    }
}

/// Whether a release of ONNX Runtime fails with numpy 2, which its package accepts before 1.18.
fn is_built_for_numpy_1(version: &str) -> bool {
    let mut parts = version.split('.').map(str::parse::<u32>);
    matches!((parts.next(), parts.next()), (Some(Ok(1)), Some(Ok(..18))))
}

fn tensorrt(module: &str, level: Option<&str>) -> Vec<String> {
    [module].into_iter().chain(level).map(str::to_owned).collect()
}

/// The package of `product` in this version, as pip takes it. Without a version that is a number, it is not pinned.
fn requirement(product: Product, distribution: &str, version: &str) -> String {
    let mut known = PACKAGES.iter().filter(|package| package.product == product);
    let is_this = |pinned: &str| pinned == version || pinned.starts_with(&format!("{version}."));
    if let Some(package) = known.find(|package| is_this(package.version)) {
        return format!("{}=={}", package.distribution, package.version);
    }
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    if !version.is_empty() && version.chars().all(is_number) {
        format!("{distribution}=={version}")
    } else {
        distribution.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_version_is_pinned_to_its_package() {
        assert_eq!(requirement(Product::Tensorrt, "tensorrt", "8.5.3"), "tensorrt==8.5.3.1");
        assert_eq!(requirement(Product::Onnxruntime, "onnxruntime", "1.22.0"), "onnxruntime==1.22.0");
        assert_eq!(requirement(Product::Onnxruntime, "onnxruntime", "built yesterday; rm"), "onnxruntime");
    }

    #[test]
    fn plugin_is_installed_beside_the_release_that_ran_it() {
        let runtime = Runtime::plugin("", Product::OnnxruntimeEpOpenVino, "1.32.0", Some("off"));
        assert_eq!(runtime.packages, ["onnx", "onnxruntime==1.32.0", "onnxruntime-ep-openvino==1.8.1"]);
        assert_eq!(runtime.arguments, ["plugin", "onnxruntime_ep_openvino", "off"]);
    }

    #[test]
    fn torch_tensorrt_is_installed_with_what_it_was_built_for() {
        let runtime = Runtime::torch_tensorrt(Some("dynamo"), Some("0"));
        assert_eq!(runtime.arguments, ["torch_tensorrt", "dynamo", "0"]);
        for package in ["torch-tensorrt==2.2.0", "torch==2.2.0", "tensorrt==8.6.0", "numpy==1.26.4"] {
            assert!(runtime.packages.iter().any(|named| named == package), "{:?}", runtime.packages);
        }
    }

    #[test]
    fn releases_built_for_numpy_1_ask_for_it() {
        let packages = |version: &str| Runtime::onnxruntime("CPU", "it".to_owned(), version, None).packages;
        assert_eq!(packages("1.17.3"), ["onnx", "it", "'numpy<2'"]);
        assert_eq!(packages("1.18.0"), ["onnx", "it"]);
        assert_eq!(packages("built yesterday; rm"), ["onnx", "it"]);
    }
}
