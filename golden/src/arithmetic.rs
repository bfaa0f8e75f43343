use twinfer_onnx::DataType;

use crate::format::Format;

/// What a backend's arithmetic may do; the less is known about it, the wider the bounds.
///
/// The default is whatever ONNX allows, which is silent on sums and subnormals; TF32 has to be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arithmetic {
    /// How 16-bit floats are accumulated.
    pub sums: Sums,
    /// What becomes of 32-bit numbers near zero.
    pub subnormals: Subnormals,
    /// What becomes of the operands of a convolution in 32-bit floats.
    pub operands: Operands,
}

/// How products of 16-bit floats are accumulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sums {
    /// In their own type.
    #[default]
    InOperandType,
    /// In 32-bit floats, rounded once at the end of each operator.
    InSingle,
}

/// What becomes of numbers below the smallest normal one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subnormals {
    /// 32-bit floats and their upper half may be taken for zero, as GPUs often do. 16-bit floats underflow gradually.
    #[default]
    Flushed,
    /// They are kept, as IEEE 754 demands.
    Gradual,
}

/// What becomes of the operands of a convolution in 32-bit floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operands {
    /// They are taken as they are.
    #[default]
    Exact,
    /// They may be rounded to TF32: 11 bits of significand.
    Tf32,
}

impl Arithmetic {
    /// Single-precision sums and gradual underflow: what CPUs do.
    pub const STRICT: Self =
        Self { sums: Sums::InSingle, subnormals: Subnormals::Gradual, operands: Operands::Exact };

    /// What `roundings` operations on `dtype` behind a result make of it, rounding it to `dtype` included.
    ///
    /// `magnitude` is the sum of the absolute parts of the result, `result` the most that its absolute value is.
    pub fn error(self, dtype: DataType, roundings: f64, magnitude: f64, result: f64) -> f64 {
        let within = self.accumulator(dtype);
        let of_parts = roundings * (Format::of(within).unit_roundoff() * magnitude + self.underflow(within));
        of_parts + Format::of(dtype).unit_roundoff() * (result + of_parts) + self.underflow(dtype)
    }

    /// The type that sums of `dtype` are kept in.
    pub const fn accumulator(self, dtype: DataType) -> DataType {
        match (self.sums, dtype) {
            (Sums::InSingle, DataType::Float16 | DataType::Bfloat16) => DataType::Float,
            (_, dtype) => dtype,
        }
    }

    /// The most that one operation loses near zero.
    pub fn underflow(self, dtype: DataType) -> f64 {
        let format = Format::of(dtype);
        if self.flushes(dtype) || dtype == DataType::Double {
            format.min_normal()
        } else {
            format.min_normal() * format.unit_roundoff()
        }
    }

    /// Whether a subnormal operand of this type may be taken for zero.
    pub fn flushes(self, dtype: DataType) -> bool {
        self.subnormals == Subnormals::Flushed && !matches!(dtype, DataType::Float16 | DataType::Double)
    }

    /// Bits that a convolution keeps of an operand's significand.
    pub const fn operand_precision(self, dtype: DataType) -> i32 {
        match (self.operands, dtype) {
            (Operands::Tf32, DataType::Float) => 11,
            (_, dtype) => Format::of(dtype).precision,
        }
    }
}
