use crate::Product;

/// A pinned wheel with backend libraries, which `backends install NAME` downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// The name under which the package is installed.
    pub name: &'static str,
    /// The product that the package holds.
    pub product: Product,
    /// The name of the package on PyPI.
    pub distribution: &'static str,
    /// The pinned version.
    pub version: &'static str,
    /// The Python version whose wheel is downloaded; the libraries do not need Python.
    pub(crate) python: &'static str,
    /// The platform tag of the wheel.
    pub(crate) platform: &'static str,
    /// The SHA-256 of the wheel for that Python version and platform: others have other hashes.
    pub sha256: &'static str,
    /// The size of the wheel in megabytes, rounded; shown while downloading.
    pub megabytes: u32,
    /// The folder of the wheel that holds the libraries.
    pub(crate) folder: &'static str,
    /// The libraries, the one to load first, then those of the same folder that it links or opens itself, such as plugins.
    /// No other file is unpacked.
    pub(crate) files: &'static [&'static str],
    /// Libraries that these link by name and do not use. If a machine lacks one, an empty stand-in is created.
    pub(crate) stand_ins: &'static [&'static str],
}

impl Package {
    /// The package called `name`, or the newest one of the product called `name`; `None` if there is none.
    pub fn named(name: &str) -> Option<&'static Self> {
        let newest = || PACKAGES.iter().find(|package| package.product.to_string() == name);
        PACKAGES.iter().find(|package| package.name == name).or_else(newest)
    }
}

const ORT_FOLDER: &str = "onnxruntime/capi";
const RTX_FOLDER: &str = "tensorrt_rtx_libs";
const TRT_FOLDER: &str = "tensorrt";
const RTX_FILES: &[&str] = &["libtensorrt_rtx.so.1", "libtensorrt_onnxparser_rtx.so.1"];

const TRT_8_5: Package = Package {
    name: "tensorrt-8.5",
    product: Product::Tensorrt,
    distribution: "tensorrt",
    version: "8.5.3.1",
    python: "3.10",
    platform: "manylinux_2_17_x86_64",
    sha256: "00375391073e51c1d662cc116f5472a921f27d75bb617c0195b3479633c625f3",
    megabytes: 549,
    folder: TRT_FOLDER,
    files: &[
        "libnvinfer.so.8",
        "libnvinfer_builder_resource.so.8.5.3",
        "libnvinfer_plugin.so.8",
        "libnvonnxparser.so.8",
    ],
    stand_ins: &["libcublas.so.11", "libcublasLt.so.11", "libcudnn.so.8"],
};

const PLUGIN: Package = Package {
    name: "",
    product: Product::OnnxruntimeEpOpenVino,
    distribution: "",
    version: "",
    python: "3.12",
    platform: "manylinux_2_28_x86_64",
    sha256: "",
    megabytes: 0,
    folder: "",
    files: &[],
    stand_ins: &[],
};

const LEAN: Package = Package {
    name: "",
    product: Product::TensorrtLean,
    distribution: "tensorrt-lean-cu12-libs",
    version: "",
    python: "3.12",
    platform: "manylinux_2_28_x86_64",
    sha256: "",
    megabytes: 0,
    folder: "tensorrt_lean_libs",
    files: &["libnvinfer_lean.so.10"],
    stand_ins: &[],
};

const RTX: Package = Package {
    name: "",
    product: Product::TensorrtRtx,
    distribution: "tensorrt-rtx-cu13-libs",
    version: "",
    python: "3.12",
    platform: "manylinux_2_28_x86_64",
    sha256: "",
    megabytes: 0,
    folder: RTX_FOLDER,
    files: RTX_FILES,
    stand_ins: &[],
};

/// All known packages, newest first for each product.
pub const PACKAGES: &[Package] = &[
    Package {
        name: "onnxruntime",
        product: Product::Onnxruntime,
        distribution: "onnxruntime",
        version: "1.31.1",
        python: "3.11",
        platform: "manylinux_2_28_x86_64",
        sha256: "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
        megabytes: 24,
        folder: ORT_FOLDER,
        files: &["libonnxruntime.so.1.31.1", "libonnxruntime_providers_shared.so"],
        stand_ins: &[],
    },
    Package {
        name: "onnxruntime-cuda",
        product: Product::OnnxruntimeCuda,
        distribution: "onnxruntime-gpu",
        version: "1.31.1",
        python: "3.12",
        platform: "manylinux_2_28_x86_64",
        sha256: "05d548956197b9d01f59b625de740e0d6be3593f874e241a12dc0362650ecdf7",
        megabytes: 256,
        folder: ORT_FOLDER,
        files: &[
            "libonnxruntime.so.1.31.1",
            "libonnxruntime_providers_shared.so",
            "libonnxruntime_providers_cuda.so",
        ],
        stand_ins: &[],
    },
    Package {
        name: "onnxruntime-ep-openvino",
        distribution: "onnxruntime-ep-openvino",
        version: "1.8.1",
        sha256: "3832643158c8c187fcab6db661cde2a8c06a2b3559d95d0f2411ac0e51c5e924",
        megabytes: 53,
        folder: "onnxruntime_ep_openvino",
        files: &[
            "libonnxruntime_providers_openvino_plugin.so",
            "libopenvino.so.2641",
            "libopenvino_onnx_frontend.so.2641",
            "libopenvino_ir_frontend.so.2641",
            "libopenvino_intel_cpu_plugin.so",
            "libtbb.so.12",
        ],
        ..PLUGIN
    },
    Package {
        name: "onnxruntime-ep-nv-tensorrt-rtx",
        product: Product::OnnxruntimeEpTensorrtRtx,
        distribution: "onnxruntime-ep-nv-tensorrt-rtx-cu13",
        version: "0.5.0",
        sha256: "32f575c633d171b4edf4b53d3bb22b72a6c9c0a850d2982ce9a788a5d40d3298",
        megabytes: 146,
        folder: "onnxruntime_ep_nv_tensorrt_rtx",
        files: &[
            "libonnxruntime_providers_nv_tensorrt_rtx.so",
            "libtensorrt_rtx.so.1.7.1",
            "libtensorrt_onnxparser_rtx.so.1.7.1",
            "libtensorrt_plugins.so",
            "libtensorrt_shim.so",
            "libcudart.so.13.4.36",
        ],
        ..PLUGIN
    },
    Package {
        name: "onnxruntime-ep-webgpu",
        product: Product::OnnxruntimeEpWebGpu,
        distribution: "onnxruntime-ep-webgpu",
        version: "0.4.0",
        sha256: "5d8c961eda91a88961cad1fb7621f389f006b18497d6ea9ecf96f729f066cbfb",
        megabytes: 7,
        folder: "onnxruntime_ep_webgpu",
        files: &["libonnxruntime_providers_webgpu.so"],
        ..PLUGIN
    },
    Package {
        name: "tensorrt-rtx-1.7",
        version: "1.7.1.116",
        sha256: "e3fd45fed001240d63304e77a2d4006319b839994237cb294b6e7ad72acaabcd",
        megabytes: 95,
        ..RTX
    },
    Package {
        name: "tensorrt-rtx-1.6",
        version: "1.6.1.120",
        sha256: "cb972965c8bcd58e2cdb805eb872c69fb90abdf98356b71942d9a2f8a10220cf",
        megabytes: 92,
        ..RTX
    },
    Package {
        name: "tensorrt-rtx-1.5",
        version: "1.5.0.114",
        sha256: "4d6f534f82b701e66f3a2bdade528e65670add4ad5d3a28cc010a1ae2abc5a60",
        megabytes: 89,
        ..RTX
    },
    Package {
        name: "tensorrt-rtx-1.4",
        version: "1.4.0.76",
        sha256: "736d89b60514f997fc23c729534f2721c01b4791d8b88ae75a4c1f8e9fa4eda6",
        megabytes: 86,
        ..RTX
    },
    Package {
        name: "tensorrt-8.6",
        product: Product::Tensorrt,
        distribution: "tensorrt",
        version: "8.6.0",
        python: "3.10",
        platform: "manylinux_2_17_x86_64",
        sha256: "8850d470a92e17e65686fce2a5105dc51fc89f2b438d60d66027288a165732ba",
        megabytes: 819,
        folder: TRT_FOLDER,
        files: &[
            "libnvinfer.so.8",
            "libnvinfer_builder_resource.so.8.6.0",
            "libnvinfer_plugin.so.8",
            "libnvonnxparser.so.8",
        ],
        stand_ins: &["libcublas.so.12", "libcublasLt.so.12", "libcudnn.so.8"],
    },
    TRT_8_5,
    Package {
        name: "tensorrt-8.5.2",
        version: "8.5.2.2",
        sha256: "ea36754388ac2e995c36bccff97c60690256da3d090f03672e0cadbac12226cc",
        files: &[
            "libnvinfer.so.8",
            "libnvinfer_builder_resource.so.8.5.2",
            "libnvinfer_plugin.so.8",
            "libnvonnxparser.so.8",
        ],
        ..TRT_8_5
    },
    Package {
        name: "tensorrt-8.5.1",
        version: "8.5.1.7",
        sha256: "f21c1ace958fbef1b8427ed182f5ef5710f2affa10f9c5adbd320a01ee8072c3",
        megabytes: 548,
        files: &[
            "libnvinfer.so.8",
            "libnvinfer_builder_resource.so.8.5.1",
            "libnvinfer_plugin.so.8",
            "libnvonnxparser.so.8",
        ],
        ..TRT_8_5
    },
    Package {
        name: "tensorrt-8.4",
        distribution: "nvidia-tensorrt",
        version: "8.4.1.5",
        sha256: "a152387e9fd7a12bdecd57eddf586bf373e091046fe851335cbbdd8d9b8e4ab5",
        megabytes: 774,
        files: &[
            "libnvinfer.so.8",
            "libnvinfer_builder_resource.so.8.4.1",
            "libnvinfer_plugin.so.8",
            "libnvonnxparser.so.8",
        ],
        ..TRT_8_5
    },
    Package {
        name: "tensorrt-lean-10.16",
        version: "10.16.1.11",
        sha256: "b472f89c55752ea35406b951da629f033e598a522bcb4e472e741c0f1f91eb58",
        megabytes: 46,
        ..LEAN
    },
    Package {
        name: "tensorrt-lean-10.15",
        version: "10.15.1.29",
        sha256: "87fc3782ca5ca2c7e6e278494e47eb2953ab11284ce446d79b4e9b02bf5e67bb",
        megabytes: 48,
        ..LEAN
    },
    Package {
        name: "tensorrt-lean-8.6",
        distribution: "tensorrt-lean",
        version: "8.6.0",
        python: "3.10",
        platform: "manylinux_2_17_x86_64",
        sha256: "c0e5a7c8956553b77813cf9e9cdb048773498d2655c19a259549d712fefa9400",
        megabytes: 16,
        folder: "tensorrt_lean",
        files: &["libnvinfer_lean.so.8"],
        ..LEAN
    },
    Package {
        name: "compute-sanitizer",
        product: Product::ComputeSanitizer,
        distribution: "nvidia-cuda-sanitizer-api",
        version: "13.5.25",
        python: "3.12",
        platform: "manylinux_2_25_x86_64",
        sha256: "5df2efbdf605a812c6bac07600dd3d801cb9d334a30376113a6f1e2bc0679f54",
        megabytes: 18,
        folder: "nvidia/cu13/compute-sanitizer",
        files: &[
            "compute-sanitizer",
            "TreeLauncherSubreaper",
            "TreeLauncherTargetLdPreloadHelper",
            "libInterceptorInjectionTarget.so",
            "libTreeLauncherPlaceholder.so",
            "libTreeLauncherTargetInjection.so",
            "libTreeLauncherTargetUpdatePreloadInjection.so",
            "libsanitizer-collection.so",
            "libsanitizer-public.so",
        ],
        stand_ins: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::{PACKAGES, Package};
    use crate::{Product, product::is_version_of};

    #[test]
    fn product_name_selects_its_newest_version() {
        assert_eq!(Package::named("tensorrt-rtx").map(|package| package.version), Some("1.7.1.116"));
        assert_eq!(Package::named("tensorrt").map(|package| package.version), Some("8.6.0"));
        assert_eq!(Package::named("tensorrt-9"), None);
    }

    #[test]
    fn every_package_is_recognized_by_its_files() {
        for package in PACKAGES {
            let names: Vec<String> = package.files.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(Product::of_files(&names), Some(package.product), "{}", package.name);
            let loaded = package.product.required_stems()[0];
            assert!(is_version_of(&names[0], loaded), "{} is loaded by {}", package.name, names[0]);
        }
    }

    #[test]
    fn every_package_is_pinned_and_named_once() {
        for package in PACKAGES {
            assert_eq!(package.sha256.len(), 64, "{}", package.name);
            assert!(!package.version.is_empty() && !package.files.is_empty(), "{}", package.name);
            assert_eq!(PACKAGES.iter().filter(|other| other.name == package.name).count(), 1);
        }
    }
}
