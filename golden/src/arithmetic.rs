use twinfer_case::{Arithmetic, Operands, Subnormals, Sums};
use twinfer_onnx::DataType;

use crate::format::Format;

/// The largest errors that a backend with a given arithmetic may make.
pub trait ErrorModel: Sized {
    /// The error of a result after `roundings` operations on `dtype`, including the rounding of the result to
    /// `dtype`.
    ///
    /// `magnitude` is the sum of the absolute terms of the result, `result` an upper bound of its absolute value.
    fn error(self, dtype: DataType, roundings: f64, magnitude: f64, result: f64) -> f64;

    /// As [`error`](Self::error), for operations that are rounded to `within`, and then the result to `dtype`.
    fn error_within(
        self,
        within: DataType,
        dtype: DataType,
        roundings: f64,
        magnitude: f64,
        result: f64,
    ) -> f64;

    /// The type in which sums of `dtype` are accumulated.
    fn accumulator(self, dtype: DataType) -> DataType;

    /// The largest underflow error of one operation.
    fn underflow(self, dtype: DataType) -> f64;

    /// Whether a subnormal operand of this type may be taken for zero.
    fn flushes(self, dtype: DataType) -> bool;

    /// Bits that a convolution keeps of an operand's significand.
    fn operand_precision(self, dtype: DataType) -> i32;
}

impl ErrorModel for Arithmetic {
    fn error(self, dtype: DataType, roundings: f64, magnitude: f64, result: f64) -> f64 {
        self.error_within(self.accumulator(dtype), dtype, roundings, magnitude, result)
    }

    fn error_within(
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

    fn accumulator(self, dtype: DataType) -> DataType {
        match (self.sums, dtype) {
            (Sums::InSingle, DataType::Float16 | DataType::Bfloat16) => DataType::Float,
            (_, dtype) => dtype,
        }
    }

    fn underflow(self, dtype: DataType) -> f64 {
        let format = Format::of(dtype);
        if self.flushes(dtype) || dtype == DataType::Double {
            format.min_normal()
        } else {
            format.min_normal() * format.unit_roundoff()
        }
    }

    fn flushes(self, dtype: DataType) -> bool {
        self.subnormals == Subnormals::Flushed && !matches!(dtype, DataType::Float16 | DataType::Double)
    }

    fn operand_precision(self, dtype: DataType) -> i32 {
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
    fn less_known_arithmetic_never_narrows_an_error() {
        for dtype in [DataType::Float, DataType::Float16, DataType::Bfloat16, DataType::Double] {
            let error = |arithmetic: Arithmetic| arithmetic.error(dtype, 9.0, 3.0, 1.0);
            assert!(error(Arithmetic::STRICT) <= error(Arithmetic::default()), "{dtype}");
        }
        let half = |arithmetic: Arithmetic| arithmetic.error(DataType::Float16, 9.0, 3.0, 1.0);
        assert!(half(Arithmetic::STRICT) < half(Arithmetic::default()) / 10.0);
    }
}
