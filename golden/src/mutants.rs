//! Golden with one rule changed.
//!
//! A *mutant* is an implementation mistake made on purpose. Evaluated in golden's place it must be noticed; where it
//! reproduces a backend's wrong output it explains it.

use twinfer_onnx::{AutoPad, Axis, DataType};

use crate::{
    convolution::GroupOrder,
    quantization::{Manner, Overflow, Rounding},
    taps::{Direction, Reach},
};

macro_rules! mutants {
    ($($variant:ident = $name:literal, $sentence:literal;)*) => {
        /// One mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Mutant {
            $(#[doc = $sentence] $variant,)*
        }

        impl Mutant {
            /// Every mutant.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name, in kebab-case.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What it does, in a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence),* }
            }
        }
    };
}

mutants! {
    PadShifted = "pad-shifted", "The padding at the start is one too large, the output keeps its shape.";
    PadsSwapped = "pads-swapped", "The padding at the start and at the end are exchanged.";
    GroupsInterleaved = "groups-interleaved", "A group takes every group-th input channel instead of neighbouring ones.";
    GroupsCollapsed = "groups-collapsed", "Every group reads the input channels of the first.";
    KernelReversed = "kernel-reversed", "The kernel is applied reversed along every spatial axis: a missing or an extra flip.";
    OutputPaddingIgnored = "output-padding-ignored", "The positions that `output_padding` adds hold the bias, whatever reaches them.";
    OutputPaddingInFront = "output-padding-in-front", "The positions that `output_padding` adds are put before the output instead of after it.";
    DilationIgnored = "dilation-ignored", "The taps of the kernel are neighbours whatever the dilation.";
    StrideShort = "stride-short", "Strides above one are one too small, the output keeps its shape.";
    BiasDropped = "bias-dropped", "The bias is not added.";
    BiasOnlyWhereReached = "bias-only-where-reached", "Positions that no tap of the kernel reaches hold zero instead of the bias.";
    SameSwapped = "same-swapped", "The odd position of `SAME_UPPER` goes to the start, that of `SAME_LOWER` to the end.";
    OperandsInHalf = "operands-in-half", "The operands of a convolution are rounded to 16-bit floats.";
    OperandsInBfloat16 = "operands-in-bfloat16", "The operands of a convolution are rounded to the upper half of a 32-bit float.";
    WeightsUnquantized = "weights-unquantized", "Quantizing a constant and dequantizing it again is left out.";
    ActivationsUnquantized = "activations-unquantized", "Quantizing a computed value and dequantizing it again is left out.";
    ScaleOnOtherAxis = "scale-on-other-axis", "Scales along axis 0 are applied along axis 1, all others along axis 0.";
    ZeroPointIgnored = "zero-point-ignored", "Zero points are taken for zero.";
    RoundedHalfAway = "rounded-half-away", "QuantizeLinear rounds half away from zero.";
    Wrapped = "wrapped", "QuantizeLinear wraps around instead of saturating.";
}

impl Mutant {
    /// Those that mistake a convolution's attributes, weights or bias, whatever the values: each changes most results that
    /// it touches by far more than rounding.
    pub const STRUCTURAL: &[Self] = &[
        Self::PadShifted,
        Self::PadsSwapped,
        Self::GroupsInterleaved,
        Self::GroupsCollapsed,
        Self::KernelReversed,
        Self::OutputPaddingIgnored,
        Self::OutputPaddingInFront,
        Self::DilationIgnored,
        Self::StrideShort,
        Self::BiasDropped,
        Self::BiasOnlyWhereReached,
        Self::SameSwapped,
    ];

    /// The mutant of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }

    /// What it makes of `auto_pad`.
    pub(crate) fn auto_pad(self, auto_pad: Option<AutoPad>) -> Option<AutoPad> {
        match (self, auto_pad) {
            (Self::SameSwapped, Some(AutoPad::SameUpper)) => Some(AutoPad::SameLower),
            (Self::SameSwapped, Some(AutoPad::SameLower)) => Some(AutoPad::SameUpper),
            (_, auto_pad) => auto_pad,
        }
    }

    /// What it makes of an axis.
    pub(crate) fn distort(self, axis: &Axis, direction: Direction) -> Reach {
        let reach = Reach::from(axis);
        match self {
            Self::PadShifted => Reach { begin: reach.begin + 1, ..reach },
            Self::PadsSwapped => Reach { begin: axis.pad_end, ..reach },
            Self::KernelReversed => Reach { reversed: true, ..reach },
            Self::OutputPaddingIgnored => Reach { untouched_end: axis.output_padding, ..reach },
            Self::OutputPaddingInFront if direction == Direction::Scatter => {
                Reach { begin: reach.begin - axis.output_padding as isize, ..reach }
            }
            Self::DilationIgnored => Reach { dilation: 1, ..reach },
            Self::StrideShort => Reach { stride: reach.stride.saturating_sub(1).max(1), ..reach },
            _ => reach,
        }
    }

    /// Which input channels belong to a group.
    pub(crate) const fn group_order(self) -> GroupOrder {
        match self {
            Self::GroupsInterleaved => GroupOrder::Interleaved,
            Self::GroupsCollapsed => GroupOrder::FirstOnly,
            _ => GroupOrder::Contiguous,
        }
    }

    /// The type that the operands of a convolution are rounded to.
    pub(crate) const fn operands(self) -> Option<DataType> {
        match self {
            Self::OperandsInHalf => Some(DataType::Float16),
            Self::OperandsInBfloat16 => Some(DataType::Bfloat16),
            _ => None,
        }
    }

    /// How numbers become integers.
    pub(crate) const fn manner(self) -> Manner {
        match self {
            Self::ZeroPointIgnored => Manner { zero_points: false, ..Manner::ONNX },
            Self::RoundedHalfAway => Manner { rounding: Rounding::HalfAwayFromZero, ..Manner::ONNX },
            Self::Wrapped => Manner { overflow: Overflow::Wraps, ..Manner::ONNX },
            _ => Manner::ONNX,
        }
    }

    /// The axis that scales apply to.
    pub(crate) const fn scale_axis(self, axis: usize) -> usize {
        match self {
            Self::ScaleOnOtherAxis if axis == 0 => 1,
            Self::ScaleOnOtherAxis => 0,
            _ => axis,
        }
    }

    /// Whether a quantization followed by its inverse is left out.
    pub(crate) const fn elides(self, is_constant: bool) -> bool {
        match self {
            Self::WeightsUnquantized => is_constant,
            Self::ActivationsUnquantized => !is_constant,
            _ => false,
        }
    }
}
