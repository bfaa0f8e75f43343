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
    /// Every type, in the order of ONNX's numbers.
    pub const ALL: [Self; 9] = [
        Self::Float,
        Self::Uint8,
        Self::Int8,
        Self::Int32,
        Self::Int64,
        Self::Bool,
        Self::Float16,
        Self::Double,
        Self::Bfloat16,
    ];

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

/// ONNX's name for the element type of a number, whether twinfer knows the type or not.
pub fn onnx_name(code: i32) -> String {
    let name = match code {
        4 => "UINT16",
        5 => "INT16",
        8 => "STRING",
        12 => "UINT32",
        13 => "UINT64",
        14 => "COMPLEX64",
        15 => "COMPLEX128",
        17 => "FLOAT8E4M3FN",
        18 => "FLOAT8E4M3FNUZ",
        19 => "FLOAT8E5M2",
        20 => "FLOAT8E5M2FNUZ",
        21 => "UINT4",
        22 => "INT4",
        23 => "FLOAT4E2M1",
        24 => "FLOAT8E8M0",
        25 => "UINT2",
        26 => "INT2",
        27 => "FLOAT6E2M3",
        28 => "FLOAT6E3M2",
        code => {
            return DataType::from_onnx_code(code)
                .map_or_else(|| code.to_string(), |known| known.to_string());
        }
    };
    name.to_owned()
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
    fn every_type_of_onnx_has_a_name() {
        assert_eq!([1, 5, 16, 28, 99].map(onnx_name), ["FLOAT", "INT16", "BFLOAT16", "FLOAT6E3M2", "99"]);
        assert!((1..=28).all(|code| onnx_name(code).starts_with(char::is_alphabetic)));
    }

    #[test]
    fn names_and_numbers_are_those_of_onnx_and_of_json() {
        for dtype in DataType::ALL {
            assert_eq!(DataType::from_onnx_code(dtype.onnx_code()), Some(dtype));
            assert_eq!(serde_json::to_string(&dtype).expect("serializes"), format!("\"{dtype}\""));
        }
        let known = (0..30).filter(|code| DataType::from_onnx_code(*code).is_some());
        assert_eq!(known.count(), DataType::ALL.len());
    }
}
