use twinfer_case::{Arithmetic, Operands, Singles, Subnormals, Sums};
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
        within: Format,
        dtype: DataType,
        roundings: f64,
        magnitude: f64,
        result: f64,
    ) -> f64;

    /// The coarsest format in which values of `dtype` may be held and computed.
    fn format(self, dtype: DataType) -> Format;

    /// The format in which sums of `dtype` are accumulated.
    fn accumulator(self, dtype: DataType) -> Format;

    /// The largest underflow error of one operation in a format.
    fn underflow(self, format: Format) -> f64;

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
        within: Format,
        dtype: DataType,
        roundings: f64,
        magnitude: f64,
        result: f64,
    ) -> f64 {
        let format = self.format(dtype);
        let of_parts = roundings * (within.unit_roundoff() * magnitude + self.underflow(within));
        of_parts + format.unit_roundoff() * (result + of_parts) + self.underflow(format)
    }

    fn format(self, dtype: DataType) -> Format {
        let [half, bfloat16] = [DataType::Float16, DataType::Bfloat16].map(Format::of);
        match (self.singles, dtype) {
            (Singles::Half, DataType::Float) => half,
            (Singles::Bfloat16, DataType::Float) => bfloat16,
            (Singles::Either, DataType::Float) => half.coarser(bfloat16),
            (_, dtype) => Format::of(dtype),
        }
    }

    fn accumulator(self, dtype: DataType) -> Format {
        match (self.sums, dtype) {
            (Sums::InSingle, DataType::Float | DataType::Float16 | DataType::Bfloat16) => {
                Format::of(DataType::Float)
            }
            (_, dtype) => self.format(dtype),
        }
    }

    fn underflow(self, format: Format) -> f64 {
        let single = Format::of(DataType::Float).min_normal_exponent;
        let is_gradual = match format.min_normal_exponent {
            exponent if exponent > single => true,
            exponent if exponent == single => self.subnormals == Subnormals::Gradual,
            _ => false,
        };
        if is_gradual { format.min_normal() * format.unit_roundoff() } else { format.min_normal() }
    }

    fn flushes(self, dtype: DataType) -> bool {
        self.subnormals == Subnormals::Flushed && !matches!(dtype, DataType::Float16 | DataType::Double)
    }

    fn operand_precision(self, dtype: DataType) -> i32 {
        match (self.operands, dtype) {
            (Operands::Tf32, DataType::Float) => TF32_PRECISION,
            (_, dtype) => Format::of(dtype).precision,
        }
    }
}

/// Bits of significand of TF32, the hidden one included.
const TF32_PRECISION: i32 = 11;

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
