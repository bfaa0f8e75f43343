use twinfer_onnx::DataType;

use crate::rounding::{to_bfloat16, to_half, to_tf32};

use super::operand::Operand;

/// What is done to the elements of an operand before they are used, or to those of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// A factor is taken as 1, everything else as 0.
    Ignored,
    Negated,
    Doubled,
    Halved,
    /// One divided by each element.
    Inverted,
    Absolute,
    OneMore,
    OneLess,
    InHalf,
    InBfloat16,
    InTf32,
    Rounded,
    Truncated,
}

impl Term {
    const NUMBERS: &[Self] = &[
        Self::Ignored,
        Self::Negated,
        Self::Doubled,
        Self::Halved,
        Self::Absolute,
        Self::Rounded,
        Self::Truncated,
        Self::InHalf,
        Self::InBfloat16,
        Self::InTf32,
    ];
    const FACTORS: &[Self] = &[
        Self::Ignored,
        Self::Negated,
        Self::Doubled,
        Self::Halved,
        Self::Inverted,
        Self::InHalf,
        Self::InBfloat16,
        Self::InTf32,
    ];
    const ZERO_POINTS: &[Self] =
        &[Self::Ignored, Self::Negated, Self::Doubled, Self::Halved, Self::OneMore, Self::OneLess];

    /// What may be done to an operand.
    pub const fn all_of(operand: Operand) -> &'static [Self] {
        if operand.is_zero_point() {
            Self::ZERO_POINTS
        } else if operand.is_factor() {
            Self::FACTORS
        } else {
            Self::NUMBERS
        }
    }

    /// The element in place of `x`.
    pub fn applied(self, operand: Operand, x: f64) -> f64 {
        match self {
            Self::Ignored => f64::from(u8::from(operand.is_factor())),
            Self::Negated => -x,
            Self::Doubled => 2.0 * x,
            Self::Halved if operand.is_zero_point() => (x / 2.0).trunc(),
            Self::Halved => x / 2.0,
            Self::Inverted => 1.0 / x,
            Self::Absolute => x.abs(),
            Self::OneMore => x + 1.0,
            Self::OneLess => x - 1.0,
            Self::InHalf => to_half(x),
            Self::InBfloat16 => to_bfloat16(x),
            Self::InTf32 => to_tf32(x),
            Self::Rounded => x.round_ties_even(),
            Self::Truncated => x.trunc(),
        }
    }

    /// Whether it makes elements coarser and leaves those that are small integers as they are.
    pub const fn is_rounding(self) -> bool {
        matches!(self, Self::InHalf | Self::InBfloat16 | Self::InTf32 | Self::Rounded | Self::Truncated)
    }

    /// Whether it may be done to integers.
    pub const fn is_of_integers(self) -> bool {
        matches!(self, Self::Ignored | Self::Negated | Self::OneMore | Self::OneLess)
    }

    /// Whether there are elements of this type that it changes.
    pub const fn concerns(self, dtype: DataType) -> bool {
        match self {
            Self::InHalf | Self::InTf32 => matches!(dtype, DataType::Float | DataType::Double),
            Self::InBfloat16 => matches!(dtype, DataType::Float | DataType::Double | DataType::Float16),
            Self::Rounded | Self::Truncated => {
                !matches!(dtype, DataType::Int8 | DataType::Uint8 | DataType::Int32 | DataType::Int64)
            }
            _ => true,
        }
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::Negated => "negated",
            Self::Doubled => "doubled",
            Self::Halved => "halved",
            Self::Inverted => "inverted",
            Self::Absolute => "absolute",
            Self::OneMore => "one-more",
            Self::OneLess => "one-less",
            Self::InHalf => "in-half",
            Self::InBfloat16 => "in-bfloat16",
            Self::InTf32 => "in-tf32",
            Self::Rounded => "rounded",
            Self::Truncated => "truncated",
        }
    }

    /// What sentences say of the operand.
    pub const fn predicate(self, operand: Operand) -> &'static str {
        match self {
            Self::Ignored if operand.is_factor() => "is taken as 1",
            Self::Ignored => "is taken as 0",
            Self::Negated => "is negated",
            Self::Doubled => "is doubled",
            Self::Halved => "is halved",
            Self::Inverted => "is replaced by its reciprocal",
            Self::Absolute => "is replaced by its absolute value",
            Self::OneMore => "is taken as one more",
            Self::OneLess => "is taken as one less",
            Self::InHalf => "is rounded to a 16-bit float",
            Self::InBfloat16 => "is rounded to bfloat16",
            Self::InTf32 => "is rounded to 11 bits of significand",
            Self::Rounded => "is rounded to an integer",
            Self::Truncated => "is rounded to an integer toward zero",
        }
    }
}
