//! The catalogue: bug reports about convolutions, deconvolutions and their quantization, by the reported software.

mod onnx_runtime;
mod predicted;
pub mod tensorrt_deconvolution;
pub mod tensorrt_quantized;
pub mod torch_tensorrt;

use crate::record::Record;

/// Every record.
pub fn all() -> impl Iterator<Item = &'static Record> {
    [
        torch_tensorrt::RECORDS,
        tensorrt_deconvolution::RECORDS,
        tensorrt_quantized::DECONVOLUTIONS,
        tensorrt_quantized::CONVOLUTIONS,
        tensorrt_quantized::ACTIVATION_TYPES,
        onnx_runtime::RECORDS,
        predicted::RECORDS,
    ]
    .into_iter()
    .flatten()
}

/// An attribute that is present.
#[expect(clippy::unnecessary_wraps, reason = "absent attributes are None")]
pub fn at(values: &[i64]) -> Option<Vec<i64>> {
    Some(values.to_vec())
}
