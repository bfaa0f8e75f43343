use twinfer_onnx::DataType;

use crate::{
    elementwise::integer_range,
    rounding::{to_bfloat16, to_half, to_tf32},
};

use super::operand::Operand;

/// What is done to the elements of an operand before they are used, or to those of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Zero in place of a negative number.
    Positive,
    AtMostOne,
    Squared,
    PowerOfTwo,
    ReciprocalInHalf,
    ReciprocalInBfloat16,
    /// The byte read as unsigned if it is signed, and as signed if it is not.
    OtherSign,
    /// Without its lowest bit.
    EvenBelow,
    /// 128, the middle of the range of UINT8.
    Middle,
    /// One more than the lowest integer of the type in place of that.
    AboveLowest,
    /// The lowest 16 bits, with a sign.
    Low16,
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
        Self::Positive,
        Self::AtMostOne,
        Self::OtherSign,
        Self::EvenBelow,
        Self::AboveLowest,
        Self::Low16,
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
        Self::Truncated,
        Self::AtMostOne,
        Self::Squared,
        Self::PowerOfTwo,
        Self::ReciprocalInHalf,
        Self::ReciprocalInBfloat16,
    ];
    const ZERO_POINTS: &[Self] = &[
        Self::Ignored,
        Self::Negated,
        Self::Doubled,
        Self::Halved,
        Self::OneMore,
        Self::OneLess,
        Self::Absolute,
        Self::AtMostOne,
        Self::OtherSign,
        Self::Middle,
    ];

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
    pub fn applied(self, operand: Operand, dtype: DataType, x: f64) -> f64 {
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
            Self::Positive => x.max(0.0),
            Self::AtMostOne => x.min(1.0),
            Self::Squared => x * x,
            Self::PowerOfTwo => x.abs().log2().round_ties_even().exp2(),
            Self::ReciprocalInHalf => 1.0 / to_half(1.0 / x),
            Self::ReciprocalInBfloat16 => 1.0 / to_bfloat16(1.0 / x),
            Self::OtherSign if x < 0.0 => x + 256.0,
            Self::OtherSign if x > 127.0 => x - 256.0,
            Self::OtherSign => x,
            Self::EvenBelow => 2.0 * (x / 2.0).floor(),
            Self::Middle => 128.0,
            Self::AboveLowest => integer_range(dtype).map_or(x, |(lowest, _)| x.max(lowest + 1.0)),
            Self::Low16 => (x + 32768.0).rem_euclid(65536.0) - 32768.0,
        }
    }

    /// Whether it makes elements coarser and leaves those that are small integers as they are.
    pub const fn is_rounding(self) -> bool {
        matches!(self, Self::InHalf | Self::InBfloat16 | Self::InTf32 | Self::Rounded | Self::Truncated)
    }

    /// Whether it may be done to integers.
    pub const fn is_of_integers(self) -> bool {
        matches!(
            self,
            Self::Ignored
                | Self::Negated
                | Self::OneMore
                | Self::OneLess
                | Self::Absolute
                | Self::Positive
                | Self::OtherSign
                | Self::EvenBelow
                | Self::Middle
                | Self::AboveLowest
                | Self::Low16
        )
    }

    /// Whether it changes nothing but integers of 8 bits.
    pub const fn is_of_bytes(self) -> bool {
        matches!(self, Self::OtherSign | Self::EvenBelow | Self::Middle)
    }

    /// Whether there are elements of this type that it changes.
    pub const fn concerns(self, dtype: DataType) -> bool {
        match self {
            Self::InHalf | Self::InTf32 => matches!(dtype, DataType::Float | DataType::Double),
            Self::InBfloat16 => matches!(dtype, DataType::Float | DataType::Double | DataType::Float16),
            Self::AboveLowest => matches!(dtype, DataType::Int8 | DataType::Uint8 | DataType::Int32),
            Self::Low16 => matches!(dtype, DataType::Int32),
            term if term.is_of_bytes() => matches!(dtype, DataType::Int8 | DataType::Uint8),
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
            Self::Positive => "positive",
            Self::AtMostOne => "at-most-1",
            Self::Squared => "squared",
            Self::PowerOfTwo => "power-of-two",
            Self::ReciprocalInHalf => "reciprocal-in-half",
            Self::ReciprocalInBfloat16 => "reciprocal-in-bfloat16",
            Self::OtherSign => "of-other-sign",
            Self::EvenBelow => "without-lowest-bit",
            Self::Middle => "128",
            Self::AboveLowest => "above-lowest",
            Self::Low16 => "in-16-bits",
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
            Self::Positive => "is taken as 0 where it is negative",
            Self::AtMostOne => "is taken as at most 1",
            Self::Squared => "is squared",
            Self::PowerOfTwo => "is rounded to a power of two",
            Self::ReciprocalInHalf => "is applied by its reciprocal in a 16-bit float",
            Self::ReciprocalInBfloat16 => "is applied by its reciprocal in bfloat16",
            Self::OtherSign => "is read with the other signedness",
            Self::EvenBelow => "loses its lowest bit",
            Self::Middle => "is taken as 128",
            Self::AboveLowest => "is taken as one more where it is the lowest integer of its type",
            Self::Low16 => "keeps only its lowest 16 bits",
        }
    }
}
