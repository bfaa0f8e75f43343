use twinfer_onnx::DataType;

/// The numbers that a floating-point type holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Bits of the significand, the hidden one included.
    pub precision: i32,
    /// The exponent of the smallest normal number.
    pub min_normal_exponent: i32,
    /// The largest finite number.
    pub max: f64,
}

impl Format {
    /// The format of tensors of this type; integers are scaled in 32-bit floats.
    pub const fn of(dtype: DataType) -> Self {
        match dtype {
            DataType::Float16 => Self { precision: 11, min_normal_exponent: -14, max: 65504.0 },
            DataType::Bfloat16 => {
                Self { precision: 8, min_normal_exponent: -126, max: 255.0 / 128.0 * (1u128 << 127) as f64 }
            }
            DataType::Double => Self { precision: 53, min_normal_exponent: -1022, max: f64::MAX },
            _ => Self { precision: 24, min_normal_exponent: -126, max: f32::MAX as f64 },
        }
    }

    /// A format that holds no more than either.
    pub fn coarser(self, other: Self) -> Self {
        Self {
            precision: self.precision.min(other.precision),
            min_normal_exponent: self.min_normal_exponent.max(other.min_normal_exponent),
            max: self.max.min(other.max),
        }
    }

    /// The unit round-off, half the distance from 1 to the next number, plus that of f64, in which the
    /// reference itself is computed.
    pub fn unit_roundoff(self) -> f64 {
        power_of_two(-self.precision) + power_of_two(-53)
    }

    /// The smallest normal number.
    pub fn min_normal(self) -> f64 {
        power_of_two(self.min_normal_exponent)
    }
}

/// 2 to a power within f64's range. Errors are bounded element by element, so that this is asked for very often.
pub fn power_of_two(exponent: i32) -> f64 {
    const BIAS: i32 = f64::MAX_EXP - 1;
    match u64::try_from(exponent + BIAS) {
        Ok(biased @ 1..=2046) => f64::from_bits(biased << (f64::MANTISSA_DIGITS - 1)),
        _ => f64::powi(2.0, exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact() {
        for exponent in -1080..=1030 {
            assert_eq!(power_of_two(exponent).to_bits(), f64::powi(2.0, exponent).to_bits(), "2^{exponent}");
        }
    }
}
