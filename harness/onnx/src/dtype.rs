use std::fmt;

use serde::{Deserialize, Serialize};

/// The element type of a tensor, named and numbered as in ONNX's `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum DataType {
    /// 32-bit IEEE 754.
    Float,
    /// 16-bit IEEE 754.
    Float16,
    /// The upper half of a 32-bit float.
    Bfloat16,
    /// 64-bit IEEE 754.
    Double,
    /// Signed 8-bit.
    Int8,
    /// Unsigned 8-bit.
    Uint8,
    /// Signed 32-bit.
    Int32,
    /// Signed 64-bit.
    Int64,
    /// One byte, zero or one.
    Bool,
}

impl DataType {
    /// The number that ONNX gives this type.
    pub const fn onnx_code(self) -> i32 {
        match self {
            Self::Float => 1,
            Self::Uint8 => 2,
            Self::Int8 => 3,
            Self::Int32 => 6,
            Self::Int64 => 7,
            Self::Bool => 9,
            Self::Float16 => 10,
            Self::Double => 11,
            Self::Bfloat16 => 16,
        }
    }

    /// The type that ONNX numbers `code`, where this crate knows it.
    pub const fn from_onnx_code(code: i32) -> Option<Self> {
        Some(match code {
            1 => Self::Float,
            2 => Self::Uint8,
            3 => Self::Int8,
            6 => Self::Int32,
            7 => Self::Int64,
            9 => Self::Bool,
            10 => Self::Float16,
            11 => Self::Double,
            16 => Self::Bfloat16,
            _ => return None,
        })
    }

    /// ONNX's name for this type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float => "FLOAT",
            Self::Uint8 => "UINT8",
            Self::Int8 => "INT8",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Bool => "BOOL",
            Self::Float16 => "FLOAT16",
            Self::Double => "DOUBLE",
            Self::Bfloat16 => "BFLOAT16",
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::Bool => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Float | Self::Int32 => 4,
            Self::Double | Self::Int64 => 8,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_onnx_and_of_json() {
        for code in 0..30 {
            if let Some(dtype) = DataType::from_onnx_code(code) {
                assert_eq!(dtype.onnx_code(), code);
                assert_eq!(serde_json::to_string(&dtype).expect("serializes"), format!("\"{dtype}\""));
            }
        }
    }
}
