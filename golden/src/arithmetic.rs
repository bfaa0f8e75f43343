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

/// How products of 16-bit floats are accumulated; the later, the less is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sums {
    /// In 32-bit floats, rounded once at the end of each operator.
    InSingle,
    /// In their own type.
    #[default]
    InOperandType,
}

/// What becomes of numbers below the smallest normal one; the later, the less is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subnormals {
    /// They are kept, as IEEE 754 demands.
    Gradual,
    /// 32-bit floats and their upper half may be taken for zero, as GPUs often do. 16-bit floats underflow gradually.
    #[default]
    Flushed,
}

/// What becomes of the operands of a convolution in 32-bit floats; the later, the less is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

    /// What may happen where either of two backends computes: one reference then serves both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            sums: self.sums.max(other.sums),
            subnormals: self.subnormals.max(other.subnormals),
            operands: self.operands.max(other.operands),
        }
    }

    /// What `roundings` operations on `dtype` behind a result make of it, rounding it to `dtype` included.
    ///
    /// `magnitude` is the sum of the absolute parts of the result, `result` the most that its absolute value is.
    pub fn error(self, dtype: DataType, roundings: f64, magnitude: f64, result: f64) -> f64 {
        self.error_within(self.accumulator(dtype), dtype, roundings, magnitude, result)
    }

    /// The same for operations that are rounded to `within`, and then the result to `dtype`.
    pub fn error_within(
        self,
        within: DataType,
        dtype: DataType,
        roundings: f64,
        magnitude: f64,
        result: f64,
    ) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arithmetic_of_two_backends_is_the_less_known_of_each_point() {
        let tf32 = Arithmetic { operands: Operands::Tf32, ..Arithmetic::STRICT };
        assert_eq!(Arithmetic::STRICT.or(Arithmetic::default()), Arithmetic::default());
        assert_eq!(
            tf32.or(Arithmetic::default()),
            Arithmetic { operands: Operands::Tf32, ..Arithmetic::default() }
        );
        assert_eq!(Arithmetic::STRICT.or(Arithmetic::STRICT), Arithmetic::STRICT);
    }

    #[test]
    fn less_known_arithmetic_never_narrows_an_error() {
        for dtype in [DataType::Float, DataType::Float16, DataType::Bfloat16, DataType::Double] {
            let error = |arithmetic: Arithmetic| arithmetic.error(dtype, 9.0, 3.0, 1.0);
            assert!(error(Arithmetic::STRICT) <= error(Arithmetic::default()), "{dtype}");
        }
        let half = |arithmetic: Arithmetic| arithmetic.error(DataType::Float16, 9.0, 3.0, 1.0);
        assert!(half(Arithmetic::STRICT) < half(Arithmetic::default()) / 10.0);
    }
}
