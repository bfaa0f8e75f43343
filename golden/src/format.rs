use twinfer_onnx::DataType;

/// What arithmetic in a floating-point type may do to a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Bits of the significand, the hidden one included.
    pub precision: i32,
    /// The exponent of the smallest normal number.
    pub min_normal_exponent: i32,
    /// The largest finite number.
    pub max: f64,
    /// The most that one operation may lose near zero: see [`Format::of`].
    pub underflow: f64,
    /// Whether hardware commonly takes subnormal operands for zero.
    pub flushes: bool,
}

impl Format {
    /// The format that an operator on tensors of this type computes in; integers are scaled in 32-bit floats.
    ///
    /// ONNX does not ask for gradual underflow. Where hardware commonly flushes subnormal numbers (32-bit floats and
    /// their upper half), one operation may lose up to the smallest normal number; elsewhere half the smallest
    /// subnormal one.
    pub const fn of(dtype: DataType) -> Self {
        match dtype {
            DataType::Float16 => Self {
                precision: 11,
                min_normal_exponent: -14,
                max: 65504.0,
                underflow: 1.0 / (1u64 << 25) as f64,
                flushes: false,
            },
            DataType::Bfloat16 => Self {
                precision: 8,
                min_normal_exponent: -126,
                max: 255.0 / 128.0 * (1u128 << 127) as f64,
                underflow: f32::MIN_POSITIVE as f64,
                flushes: true,
            },
            DataType::Double => Self {
                precision: 53,
                min_normal_exponent: -1022,
                max: f64::MAX,
                underflow: f64::MIN_POSITIVE,
                flushes: false,
            },
            _ => Self {
                precision: 24,
                min_normal_exponent: -126,
                max: f32::MAX as f64,
                underflow: f32::MIN_POSITIVE as f64,
                flushes: true,
            },
        }
    }

    /// The unit round-off, half the distance of 1 from the next number, together with that of f64, in which the
    /// reference itself is computed.
    pub fn unit_roundoff(self) -> f64 {
        power_of_two(-self.precision) + power_of_two(-53)
    }
}

/// 2 to a power within f64's range.
pub fn power_of_two(exponent: i32) -> f64 {
    f64::powi(2.0, exponent)
}
