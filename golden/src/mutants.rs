//! Golden with one rule changed.
//!
//! A *mutant* is an implementation mistake made on purpose. Evaluated in golden's place it must be noticed; where it
//! reproduces a backend's wrong output it explains it.

use crate::{
    attributes::{
        drop_output_padding, ignore_output_shape, pad_both_ends_alike, same_as_valid,
        split_output_shape_at_end, swap_pads, swap_same,
    },
    convolution::{GroupOrder, WeightOrder},
    quantization::{Manner, Overflow, Rounding},
    rounding::{to_bfloat16, to_tf32},
    semantics::{Accumulator, Bias, FloatWeights, Origins, Scales, Semantics, Surroundings, Unsigned},
    taps::Direction,
};

/// What kind of mistake a mutant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Nature {
    /// A convolution's attributes, weights or bias are mistaken, whatever the values; the output keeps its shape.
    Convolution,
    /// An attribute is read as something else; most outputs get another shape.
    Attribute,
    /// Scales, zero points, rounding or saturation are mistaken, or quantization is left out.
    Quantization,
    /// An operator beside a convolution is mistaken.
    Surroundings,
    /// Arithmetic is coarser than the types say: a matter of precision, not of meaning.
    Precision,
}

macro_rules! mutants {
    ($($nature:ident { $($variant:ident = $name:literal, $sentence:literal, $change:expr;)* })*) => {
        /// One mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Mutant {
            $($(#[doc = $sentence] $variant,)*)*
        }

        impl Mutant {
            /// Every mutant.
            pub const ALL: &[Self] = &[$($(Self::$variant),*),*];

            /// Its name, in kebab-case.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* }
            }

            /// What it does, in a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $($(Self::$variant => $sentence,)*)* }
            }

            /// What kind of mistake it is.
            pub const fn nature(self) -> Nature {
                match self { $($(Self::$variant => Nature::$nature,)*)* }
            }

            /// Makes the mistake.
            pub(crate) fn change(self, golden: &mut Semantics) {
                let change: fn(&mut Semantics) = match self { $($(Self::$variant => $change,)*)* };
                change(golden);
            }
        }
    };
}

mutants! {
    Convolution {
        PadShifted = "pad-shifted",
            "The padding at the start is one too large, the output keeps its shape.",
            |golden| golden.reach.push(|reach, _, _| reach.begin += 1);
        PadsSwapped = "pads-swapped",
            "The `pads` of the start and of the end are exchanged.",
            |golden| golden.attributes.push(swap_pads);
        GroupsInterleaved = "groups-interleaved",
            "A group takes every group-th input channel instead of neighbouring ones.",
            |golden| golden.groups = GroupOrder::Interleaved;
        GroupsCollapsed = "groups-collapsed",
            "Every group reads the input channels of the first.",
            |golden| golden.groups = GroupOrder::FirstOnly;
        GroupsDealt = "groups-dealt",
            "Output channels belong to the groups in turn instead of neighbouring ones to the same group.",
            |golden| golden.groups = GroupOrder::Dealt;
        WeightChannelsExchanged = "weight-channels-exchanged",
            "Input and output channels of the weight are exchanged: that of a Conv is read as that of a ConvTranspose and the other way round.",
            |golden| golden.weights = WeightOrder::Exchanged;
        KernelReversed = "kernel-reversed",
            "The kernel is applied reversed along every spatial axis: a missing or an extra flip.",
            |golden| golden.reach.push(|reach, _, _| reach.reversed = true);
        OutputPaddingIgnored = "output-padding-ignored",
            "The positions that `output_padding` adds hold the bias, whatever reaches them.",
            |golden| golden.reach.push(|reach, axis, _| reach.untouched_end = axis.output_padding);
        OutputPaddingInFront = "output-padding-in-front",
            "The positions that `output_padding` adds are put before the output instead of after it.",
            |golden| golden.reach.push(|reach, axis, direction| {
                if direction == Direction::Scatter {
                    reach.begin -= axis.output_padding as isize;
                }
            });
        DilationIgnored = "dilation-ignored",
            "The taps of the kernel are neighbours whatever the dilation.",
            |golden| golden.reach.push(|reach, _, _| reach.dilation = 1);
        StrideShort = "stride-short",
            "Strides above one are one too small, the output keeps its shape.",
            |golden| golden.reach.push(|reach, _, _| reach.stride = reach.stride.saturating_sub(1).max(1));
        BiasDropped = "bias-dropped",
            "The bias is not added.",
            |golden| golden.bias = Bias::Dropped;
        BiasNotInGaps = "bias-not-in-gaps",
            "Positions that no tap of the kernel reaches hold zero instead of the bias, but for what `output_padding` appends.",
            |golden| golden.bare.gaps = true;
        BiasNotOnStrip = "bias-not-on-strip",
            "The strip that `output_padding` appends behind the reach of the kernel holds zero instead of the bias.",
            |golden| golden.bare.strip = true;
        SameSwapped = "same-swapped",
            "The odd position of `SAME_UPPER` goes to the start, that of `SAME_LOWER` to the end.",
            |golden| golden.attributes.push(swap_same);
        OutputShapeSplitSwapped = "output-shape-split-swapped",
            "The odd position that `output_shape` crops without `SAME_UPPER` goes to the end instead of the start.",
            |golden| golden.attributes.push(split_output_shape_at_end);
    }
    Attribute {
        SameAsValid = "same-as-valid",
            "`auto_pad` SAME is taken for VALID: nothing is padded or cropped.",
            |golden| golden.attributes.push(same_as_valid);
        OutputPaddingDropped = "output-padding-dropped",
            "`output_padding` is taken for zero.",
            |golden| golden.attributes.push(drop_output_padding);
        OutputShapeIgnored = "output-shape-ignored",
            "`output_shape` is ignored: `pads` or `auto_pad` decide.",
            |golden| golden.attributes.push(ignore_output_shape);
        PadsAlike = "pads-alike",
            "The padding at the start serves the end too.",
            |golden| golden.attributes.push(pad_both_ends_alike);
    }
    Quantization {
        WeightsUnquantized = "weights-unquantized",
            "Quantizing a constant and dequantizing it again is left out.",
            |golden| golden.unquantized.constants = true;
        ActivationsUnquantized = "activations-unquantized",
            "Quantizing a computed value and dequantizing it again is left out.",
            |golden| {
                golden.unquantized.inputs = true;
                golden.unquantized.results = true;
            };
        ResultsUnquantized = "results-unquantized",
            "Quantizing what an operator gave and dequantizing it again is left out; what is fed is quantized.",
            |golden| golden.unquantized.results = true;
        ScaleOnOtherAxis = "scale-on-other-axis",
            "Scales along axis 0 are applied along axis 1, all others along axis 0.",
            |golden| golden.scales = Scales::AlongOtherAxis;
        DequantizedOnOtherAxis = "dequantized-on-other-axis",
            "What is quantized with scales along axis 0 is dequantized with them along axis 1, any other along axis 0.",
            |golden| golden.scales = Scales::DequantizedAlongOtherAxis;
        FirstScaleForAll = "first-scale-for-all",
            "The scale of the first channel serves every channel.",
            |golden| golden.scales = Scales::First;
        ZeroPointIgnored = "zero-point-ignored",
            "The zero points of fed and computed values are taken for zero, in QuantizeLinear and DequantizeLinear alike.",
            |golden| golden.centred = Origins { constants: false, inputs: true, results: true };
        ActivationZeroPointKept = "activation-zero-point-kept",
            "DequantizeLinear does not subtract the zero point of a fed or computed value.",
            |golden| {
                golden.unshifted.inputs = true;
                golden.unshifted.results = true;
            };
        WeightZeroPointKept = "weight-zero-point-kept",
            "DequantizeLinear does not subtract the zero point of a constant.",
            |golden| golden.unshifted.constants = true;
        UnsignedAsSigned = "unsigned-as-signed",
            "DequantizeLinear reads uint8 as int8, the zero point too.",
            |golden| golden.unsigned = Unsigned::ReadAsSigned;
        Uint8AsInt8 = "uint8-as-int8",
            "Quantizing to uint8 gives int8, which saturates at -128 and 127; stored uint8 is read as int8.",
            |golden| golden.unsigned = Unsigned::TakenForSigned;
        RoundedHalfAway = "rounded-half-away",
            "QuantizeLinear rounds half away from zero.",
            |golden| golden.manner = Manner { rounding: Rounding::HalfAwayFromZero, ..Manner::ONNX };
        Truncated = "truncated",
            "QuantizeLinear rounds toward zero.",
            |golden| golden.manner = Manner { rounding: Rounding::TowardZero, ..Manner::ONNX };
        Wrapped = "wrapped",
            "QuantizeLinear wraps around instead of saturating.",
            |golden| golden.manner = Manner { overflow: Overflow::Wraps, ..Manner::ONNX };
        NarrowRange = "narrow-range",
            "QuantizeLinear saturates int8 at -127.",
            |golden| golden.manner = Manner { overflow: Overflow::SaturatesNarrowly, ..Manner::ONNX };
        BiasInProductSteps = "bias-in-product-steps",
            "The bias of a quantized convolution is rounded to whole products of the scales of its operands.",
            |golden| golden.bias = Bias::InProductSteps;
        BiasAfterRequantization = "bias-after-requantization",
            "The bias is rounded to whole steps of the quantized output and added after the sum was quantized.",
            |golden| golden.bias = Bias::AfterRequantization;
        FloatWeightsQuantized = "float-weights-quantized",
            "The float weights of a convolution between quantizers are rounded to 256 steps over their range.",
            |golden| golden.float_weights = FloatWeights::Quantized;
        PairsSaturated = "pairs-saturated",
            "The products of uint8 and int8 are summed in pairs of 16 bits, which saturate.",
            |golden| golden.sums = Accumulator::SaturatingPairs;
    }
    Surroundings {
        ReluDropped = "relu-dropped",
            "Relu is left out.",
            |golden| golden.surroundings = Surroundings::ReluDropped;
        AddendDropped = "addend-dropped",
            "Add gives its first operand.",
            |golden| golden.surroundings = Surroundings::AddendDropped;
        EpsilonIgnored = "epsilon-ignored",
            "BatchNormalization adds no epsilon to the variance.",
            |golden| golden.surroundings = Surroundings::EpsilonIgnored;
        PoolPaddingZero = "pool-padding-zero",
            "`MaxPool` finds zeros beyond its input: in the padding, and where `ceil_mode` reaches further.",
            |golden| golden.surroundings = Surroundings::PoolPaddingZero;
        ConcatWithOneScale = "concat-with-one-scale",
            "Concat reads all its quantized parts with the scale of the first.",
            |golden| golden.surroundings = Surroundings::ConcatWithOneScale;
    }
    Precision {
        OperandsInTf32 = "operands-in-tf32",
            "The operands of a convolution are rounded to 11 bits of significand, those of TF32 and 16-bit floats.",
            |golden| golden.operands = Some(to_tf32);
        OperandsInBfloat16 = "operands-in-bfloat16",
            "The operands of a convolution are rounded to the upper half of a 32-bit float.",
            |golden| golden.operands = Some(to_bfloat16);
        SumsInHalf = "sums-in-half",
            "The products of a convolution are summed in 16-bit floats.",
            |golden| golden.sums = Accumulator::Half;
    }
}

impl Mutant {
    /// The mutant of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }
}
