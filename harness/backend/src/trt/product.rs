use nvinfer::{Library, Product};

/// Whether a release builds for GPUs that need not be present.
pub fn builds_without_gpu(library: Library) -> bool {
    library.version().product() == Product::TensorRtRtx
}
