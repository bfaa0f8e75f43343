use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::DataType;

/// A dense tensor in row-major order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tensor {
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// As many elements as the product of `shape`.
    pub data: TensorData,
}

/// The elements of a [`Tensor`], by type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is the DataType of the same name")]
pub enum TensorData {
    Float(Vec<f32>),
    Float16(Vec<f16>),
    Bfloat16(Vec<bf16>),
    Double(Vec<f64>),
    Int8(Vec<i8>),
    Uint8(Vec<u8>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Bool(Vec<bool>),
}
