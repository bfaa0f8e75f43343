use twinfer_case::{DeviceNeed, Variant};
use twinfer_libraries::Loader;

/// Whether a variant needs a GPU and this machine has none.
pub fn lacks_device(variant: &Variant) -> bool {
    variant.backend.device_need() == DeviceNeed::Always && !has_device()
}

/// Whether this machine has an NVIDIA GPU.
pub fn has_device() -> bool {
    Loader::of_this_machine().has_cuda_device()
}
