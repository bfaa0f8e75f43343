//! The pinned packages of Torch-TensorRT's environment.

use crate::pinned_package::{PinnedPackage, Python};

/// The Python that all these wheels are for.
pub(crate) const PYTHON: Python = Python { program: "python3.10", versions: &["3.10"] };
/// The release of Torch-TensorRT, the last one that works with TensorRT 8.
pub(crate) const VERSION: &str = "2.2.0";
/// The size of all wheels in megabytes.
pub(crate) const MEGABYTES: u32 = 3_495;

/// Declares packages with the SHA-256 of their wheels for [`PYTHON`], a row each.
macro_rules! packages {
    ($($distribution:literal, $version:literal, $sha256:literal;)*) => {
        &[$(PinnedPackage {
            distribution: $distribution,
            version: $version,
            pythons: PYTHON.versions,
            hashes: &[$sha256],
        }),*]
    };
}

/// All packages. PyTorch's for CUDA need NVIDIA's libraries of CUDA 12.1 to be imported, with or without a GPU; Triton, which PyTorch
/// also names, is needed by its own compiler only.
pub(crate) const PACKAGES: &[PinnedPackage] = packages! {
    "torch-tensorrt", "2.2.0", "536742bdff257d2c26a52a1fd79712043a73feff5aeffe71fe3fb98b740425a5";
    "torch", "2.2.0", "d366158d6503a3447e67f8c0ad1328d54e6c181d88572d688a625fac61b13a97";
    "tensorrt", "8.6.0", "8850d470a92e17e65686fce2a5105dc51fc89f2b438d60d66027288a165732ba";
    "numpy", "1.26.4", "ffa75af20b44f8dba823498024771d5ac50620e6915abac414251bd971b4529f";
    "onnx", "1.23.2", "03334d6c834767c7acd37c7db51c98e98c8ceb61a964f6df96386e13272d2870";
    "ml_dtypes", "0.6.0", "6ec0d244a5bba12239025389ad88bbfb45f9f10e25ab4f678e9a4768ebd47532";
    "protobuf", "7.36.2", "89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2";
    "typing_extensions", "4.16.0", "481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8";
    "filelock", "4.1.0", "2ce9818e3e2d8f284c1a964414447ef148d42a5fd5e2a477a7118e574b293ec1";
    "fsspec", "2026.9.0", "8dd6e646e99ea382bd85f97a45e6b526a442d79423a7dc673f1e2756d05fcb5f";
    "jinja2", "3.1.6", "85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67";
    "markupsafe", "3.0.4", "d1aca03ede943eb80ab3d63bb082c84b7aab85ea83bd0fd0c200260945fb49d9";
    "mpmath", "1.3.0", "a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c";
    "networkx", "3.4.2", "df5d4365b724cf81b8c6a7312509d0c22386097011ad1abe274afd5e9d3bbc5f";
    "packaging", "26.4", "81383611a09c1bc0b08b76e0fd5829d7c6824c65b27a6aee339da133f4233ea2";
    "sympy", "1.13.3", "54612cf55a62755ee71824ce692986f23c88ffa77207b30c1368eda4a7060f73";
    "nvidia-cublas-cu12", "12.1.3.1", "ee53ccca76a6fc08fb9701aa95b6ceb242cdaab118c3bb152af4e579af792728";
    "nvidia-cuda-cupti-cu12", "12.1.105", "e54fde3983165c624cb79254ae9818a456eb6e87a7fd4d56a2352c24ee542d7e";
    "nvidia-cuda-nvrtc-cu12", "12.1.105", "339b385f50c309763ca65456ec75e17bbefcbbf2893f462cb8b90584cd27a1c2";
    "nvidia-cuda-runtime-cu12", "12.1.105", "6e258468ddf5796e25f1dc591a31029fa317d97a0a94ed93468fc86301d61e40";
    "nvidia-cudnn-cu12", "8.9.2.26", "5ccb288774fdfb07a7e7025ffec286971c06d8d7b4fb162525334616d7629ff9";
    "nvidia-cufft-cu12", "11.0.2.54", "794e3948a1aa71fd817c3775866943936774d1c14e7628c74f6f7417224cdf56";
    "nvidia-curand-cu12", "10.3.2.106", "9d264c5036dde4e64f1de8c50ae753237c12e0b1348738169cd0f8a536c0e1e0";
    "nvidia-cusolver-cu12", "11.4.5.107", "8a7ec542f0412294b15072fa7dab71d31334014a69f953004ea7a118206fe0dd";
    "nvidia-cusparse-cu12", "12.1.0.106", "f3b50f42cf363f86ab21f720998517a659a48131e8d538dc02f8768237bd884c";
    "nvidia-nccl-cu12", "2.19.3", "a9734707a2c96443331c1e48c717024aa6678a0e2a4cb66b2c364d18cee6b48d";
    "nvidia-nvjitlink-cu12", "12.1.105", "015fed699b390ce3b8a8578d822d501a4194d0a341d3859554067c1ab291cb85";
    "nvidia-nvtx-cu12", "12.1.105", "dc21cf308ca5691e7c04d962e213f8a4aa9bbfa23d95412f452254c2caeb09e5";
};
