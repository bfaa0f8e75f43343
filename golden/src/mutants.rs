//! Mutants: golden with one fact changed.
//!
//! The table `mutants!` holds them all, each with a name, a sentence, and the change that it makes to [`Semantics`].

use crate::{
    attributes::{
        drop_output_padding, ignore_output_shape, pad_both_ends_alike, same_as_valid, same_lower_as_upper,
        same_upper_as_lower, split_output_shape_at_end, swap_pads, swap_same,
    },
    quantization::{IntegerConversion, Overflow, Rounding},
    rounding::{to_bfloat16, to_tf32},
    semantics::{
        Accumulator, AxisMove, Bias, FloatWeights, GroupOrder, Origins, Scales, Semantics, SuccessivePairs,
        Surroundings, Unsigned, WeightOrder,
    },
    taps::Direction,
};

/// The part of the semantics that a mutant changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Nature {
    /// How a convolution applies its attributes, weights or bias, whatever the values; the output keeps its shape.
    Convolution,
    /// The meaning of an attribute; most outputs get another shape.
    Attribute,
    /// Scales, zero points, rounding or saturation, or whether anything is quantized at all.
    Quantization,
    /// An operator other than a convolution or a quantizer.
    Surroundings,
    /// The precision of the arithmetic, which is coarser than that of the types.
    Precision,
}

macro_rules! mutants {
    ($($nature:ident { $($variant:ident = $name:literal, $sentence:literal, $change:expr;)* })*) => {
        /// Golden with one fact changed: which element is read, which parameter is applied, where, in which order or
        /// precision.
        ///
        /// Checks must notice a mutant evaluated in golden's place. A mutant that reproduces a backend's wrong output
        /// is the diagnosis of that output.
        ///
        /// ```
        /// use twinfer_golden::{Mutant, evaluate_with};
        /// use twinfer_onnx::{DataType, Graph, Node, Op, Tensor, TensorData, ValueInfo};
        ///
        /// let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        /// let relu = Node {
        ///     name: "relu".to_owned(),
        ///     op: Op::Relu,
        ///     inputs: vec!["x".to_owned()],
        ///     outputs: vec!["y".to_owned()],
        /// };
        /// let graph = Graph {
        ///     opset: 22,
        ///     inputs: vec![value("x")],
        ///     initializers: vec![],
        ///     nodes: vec![relu],
        ///     outputs: vec![value("y")],
        /// };
        /// let x = Tensor { shape: vec![2], data: TensorData::Float(vec![-1.0, 2.0]) };
        /// let golden = evaluate_with(&graph, &[x.clone()], None)?;
        /// let mutant = evaluate_with(&graph, &[x], Some(Mutant::ReluDropped))?;
        /// assert_eq!(golden.outputs[0].values, [0.0, 2.0]);
        /// assert_eq!(mutant.outputs[0].values, [-1.0, 2.0]);
        /// # Ok::<(), twinfer_golden::Unknown>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Mutant {
            $($(#[doc = $sentence] $variant,)*)*
        }

        impl Mutant {
            /// Every mutant, in the order of the table.
            pub const ALL: &[Self] = &[$($(Self::$variant),*),*];

            /// The name in reports, in kebab-case.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* }
            }

            /// The description of the change that reports print, as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $($(Self::$variant => $sentence,)*)* }
            }

            /// The part of the semantics that the mutant changes.
            pub const fn nature(self) -> Nature {
                match self { $($(Self::$variant => Nature::$nature,)*)* }
            }

            /// Applies the change to the semantics of ONNX.
            pub(crate) fn apply(self, golden: &mut Semantics) {
                let change: fn(&mut Semantics) = match self { $($(Self::$variant => $change,)*)* };
                change(golden);
            }
        }
    };
}

mutants! {
    Convolution {
        PadShifted = "pad-shifted",
            "The padding at the start of each axis is one too large, and the output keeps its shape.",
            |golden| golden.reach.push(|reach, _, _| reach.begin += 1);
        PadsSwapped = "pads-swapped",
            "The `pads` at the start and at the end of each axis are swapped.",
            |golden| golden.attributes.push(swap_pads);
        GroupsInterleaved = "groups-interleaved",
            "Each group reads input channels that lie `group` apart instead of consecutive ones.",
            |golden| golden.groups = GroupOrder::Interleaved;
        GroupsCollapsed = "groups-collapsed",
            "Every group reads the input channels of the first group.",
            |golden| golden.groups = GroupOrder::FirstOnly;
        GroupsDealt = "groups-dealt",
            "Output channels are assigned to the groups in turn instead of in consecutive blocks.",
            |golden| golden.groups = GroupOrder::Dealt;
        WeightChannelsExchanged = "weight-channels-exchanged",
            "Input and output channels of the weight are swapped: the weight of a Conv is read in the layout of a ConvTranspose, and vice versa.",
            |golden| golden.weights = WeightOrder::Exchanged;
        KernelReversed = "kernel-reversed",
            "The kernel is applied in reverse along every spatial axis: a missing or an extra flip.",
            |golden| golden.reach.push(|reach, _, _| reach.reversed = true);
        OutputPaddingIgnored = "output-padding-ignored",
            "The positions that `output_padding` adds hold only the bias, even where the kernel reaches them.",
            |golden| golden.reach.push(|reach, axis, _| reach.untouched_end = axis.output_padding);
        OutputPaddingInFront = "output-padding-in-front",
            "The positions that `output_padding` adds come before the output instead of after it.",
            |golden| golden.reach.push(|reach, axis, direction| {
                if direction == Direction::Scatter {
                    reach.begin -= axis.output_padding as isize;
                }
            });
        DilationIgnored = "dilation-ignored",
            "The dilation is taken as 1, and the output keeps its shape.",
            |golden| golden.reach.push(|reach, _, _| reach.dilation = 1);
        StrideShort = "stride-short",
            "Strides above 1 are one too small, and the output keeps its shape.",
            |golden| golden.reach.push(|reach, _, _| reach.stride = reach.stride.saturating_sub(1).max(1));
        BiasDropped = "bias-dropped",
            "The bias is not added.",
            |golden| golden.bias = Bias::Dropped;
        BiasNotInGaps = "bias-not-in-gaps",
            "Positions that no tap of the kernel reaches hold zero instead of the bias, except for those that `output_padding` appends.",
            |golden| golden.bare.gaps = true;
        BiasNotOnStrip = "bias-not-on-strip",
            "The positions that `output_padding` appends beyond the reach of the kernel hold zero instead of the bias.",
            |golden| golden.bare.strip = true;
        SameSwapped = "same-swapped",
            "`SAME_UPPER` puts the odd position of the padding at the start, and `SAME_LOWER` at the end.",
            |golden| golden.attributes.push(swap_same);
        SameUpperAsLower = "same-upper-as-lower",
            "`SAME_UPPER` puts the odd position of the padding at the start, as `SAME_LOWER` does.",
            |golden| golden.attributes.push(same_upper_as_lower);
        SameLowerAsUpper = "same-lower-as-upper",
            "`SAME_LOWER` puts the odd position of the padding at the end, as `SAME_UPPER` does.",
            |golden| golden.attributes.push(same_lower_as_upper);
        OutputShapeSplitSwapped = "output-shape-split-swapped",
            "The odd position that `output_shape` crops without `SAME_UPPER` is cropped at the end instead of the start.",
            |golden| golden.attributes.push(split_output_shape_at_end);
    }
    Attribute {
        SameAsValid = "same-as-valid",
            "`auto_pad` SAME is treated as VALID: nothing is padded or cropped.",
            |golden| golden.attributes.push(same_as_valid);
        OutputPaddingDropped = "output-padding-dropped",
            "`output_padding` is taken as zero.",
            |golden| golden.attributes.push(drop_output_padding);
        OutputShapeIgnored = "output-shape-ignored",
            "`output_shape` is ignored in favor of `pads` or `auto_pad`.",
            |golden| golden.attributes.push(ignore_output_shape);
        PadsAlike = "pads-alike",
            "The padding at the start of each axis is also used at its end.",
            |golden| golden.attributes.push(pad_both_ends_alike);
    }
    Quantization {
        WeightsUnquantized = "weights-unquantized",
            "QuantizeLinear and DequantizeLinear of a constant are skipped.",
            |golden| golden.unquantized.constants = true;
        ActivationsUnquantized = "activations-unquantized",
            "QuantizeLinear and DequantizeLinear of a graph input or of an operator's result are skipped.",
            |golden| {
                golden.unquantized.inputs = true;
                golden.unquantized.results = true;
            };
        ResultsUnquantized = "results-unquantized",
            "QuantizeLinear and DequantizeLinear of an operator's result are skipped, but not those of a graph input.",
            |golden| golden.unquantized.results = true;
        QuantizerPairsMerged = "quantizer-pairs-merged",
            "Two pairs of QuantizeLinear and DequantizeLinear, one behind the other, become one, with the range that they have in common.",
            |golden| golden.successive_pairs = SuccessivePairs::Merged;
        QuantizedAxesExchanged = "quantized-axes-exchanged",
            "The three-dimensional result of a QuantizeLinear with scales along an axis has its first two axes swapped, and is zero where that leaves gaps; constants are not affected.",
            |golden| golden.exchanged = Origins { constants: false, inputs: true, results: true };
        ScaleOnOtherAxis = "scale-on-other-axis",
            "The scales and zero points of axis 0 are applied along axis 1, and those of every other axis along axis 0.",
            |golden| golden.scales = Scales::Moved(AxisMove::Exchanged);
        ScaleAlongAxis1 = "scale-along-axis-1",
            "The scales and zero points of axis 0 are applied along axis 1.",
            |golden| golden.scales = Scales::Moved(AxisMove::FirstToSecond);
        ScaleAlongAxis0 = "scale-along-axis-0",
            "The scales and zero points of every axis but 0 are applied along axis 0.",
            |golden| golden.scales = Scales::Moved(AxisMove::OthersToFirst);
        DequantizedOnOtherAxis = "dequantized-on-other-axis",
            "DequantizeLinear (but not QuantizeLinear) applies the scales and zero points of axis 0 along axis 1, and those of every other axis along axis 0.",
            |golden| golden.scales = Scales::MovedWhenDequantized(AxisMove::Exchanged);
        DequantizedAlongAxis1 = "dequantized-along-axis-1",
            "DequantizeLinear (but not QuantizeLinear) applies the scales and zero points of axis 0 along axis 1.",
            |golden| golden.scales = Scales::MovedWhenDequantized(AxisMove::FirstToSecond);
        DequantizedAlongAxis0 = "dequantized-along-axis-0",
            "DequantizeLinear (but not QuantizeLinear) applies the scales and zero points of every axis but 0 along axis 0.",
            |golden| golden.scales = Scales::MovedWhenDequantized(AxisMove::OthersToFirst);
        FirstScaleForAll = "first-scale-for-all",
            "The scale of the first channel is used for every channel.",
            |golden| golden.scales = Scales::First;
        ZeroPointIgnored = "zero-point-ignored",
            "QuantizeLinear and DequantizeLinear take the zero points of graph inputs and computed values as zero.",
            |golden| golden.centered = Origins { constants: false, inputs: true, results: true };
        ActivationZeroPointKept = "activation-zero-point-kept",
            "DequantizeLinear does not subtract the zero point of a graph input or computed value.",
            |golden| {
                golden.unshifted.inputs = true;
                golden.unshifted.results = true;
            };
        WeightZeroPointKept = "weight-zero-point-kept",
            "DequantizeLinear does not subtract the zero point of a constant.",
            |golden| golden.unshifted.constants = true;
        UnsignedAsSigned = "unsigned-as-signed",
            "DequantizeLinear reads uint8 elements and zero points as int8.",
            |golden| golden.unsigned = Unsigned::ReadAsSigned;
        Uint8AsInt8 = "uint8-as-int8",
            "QuantizeLinear to uint8 gives int8, which saturates at -128 and 127, and stored uint8 is read as int8.",
            |golden| golden.unsigned = Unsigned::TakenForSigned;
        RoundedHalfAway = "rounded-half-away",
            "QuantizeLinear rounds half away from zero.",
            |golden| golden.conversion = IntegerConversion { rounding: Rounding::HalfAwayFromZero, ..IntegerConversion::ONNX };
        Truncated = "truncated",
            "QuantizeLinear rounds toward zero.",
            |golden| golden.conversion = IntegerConversion { rounding: Rounding::TowardZero, ..IntegerConversion::ONNX };
        ZeroPointBeforeRounding = "zero-point-before-rounding",
            "The zero point is added before a number is rounded to an integer: a tie goes to the even sum.",
            |golden| golden.conversion = IntegerConversion { shifted_first: true, ..IntegerConversion::ONNX };
        Wrapped = "wrapped",
            "QuantizeLinear wraps around instead of saturating.",
            |golden| golden.conversion = IntegerConversion { overflow: Overflow::Wraps, ..IntegerConversion::ONNX };
        NarrowRange = "narrow-range",
            "QuantizeLinear saturates int8 at -127 instead of -128.",
            |golden| golden.conversion = IntegerConversion { overflow: Overflow::SaturatesNarrowly, ..IntegerConversion::ONNX };
        QuantizedThroughInt32 = "quantized-through-int32",
            "QuantizeLinear converts to a 32-bit integer first, which is the lowest one for numbers beyond its range, and adds the zero point to that with wraparound.",
            |golden| golden.conversion = IntegerConversion { overflow: Overflow::LowestInt32, ..IntegerConversion::ONNX };
        QuantizedThroughSaturatingInt32 = "quantized-through-saturating-int32",
            "QuantizeLinear converts to a 32-bit integer first, which saturates, and adds the zero point to that with wraparound.",
            |golden| golden.conversion = IntegerConversion { overflow: Overflow::SaturatesInt32, ..IntegerConversion::ONNX };
        BiasInProductSteps = "bias-in-product-steps",
            "The bias of a quantized convolution is rounded to multiples of the product of its operands' scales.",
            |golden| golden.bias = Bias::InProductSteps;
        BiasAfterRequantization = "bias-after-requantization",
            "The bias is rounded to steps of the quantized output and added after the sum is quantized.",
            |golden| golden.bias = Bias::AfterRequantization;
        FloatWeightsQuantized = "float-weights-quantized",
            "Float weights of a convolution between quantizers are quantized to 256 levels over their range and zero.",
            |golden| golden.float_weights = FloatWeights::Quantized;
        PairsSaturated = "pairs-saturated",
            "Products of uint8 and int8 are summed in pairs in 16-bit integers, which saturate.",
            |golden| golden.sums = Accumulator::SaturatingPairs;
    }
    Surroundings {
        ReluDropped = "relu-dropped",
            "Relu is skipped.",
            |golden| golden.surroundings = Surroundings::ReluDropped;
        AddendDropped = "addend-dropped",
            "Add returns its first operand.",
            |golden| golden.surroundings = Surroundings::AddendDropped;
        EpsilonIgnored = "epsilon-ignored",
            "BatchNormalization does not add epsilon to the variance.",
            |golden| golden.surroundings = Surroundings::EpsilonIgnored;
        NormalizedByInterleavedGroup = "normalized-by-interleaved-group",
            "BatchNormalization is folded into the weights of the ConvTranspose before it as if input channel `c` were in group `c` modulo `group`.",
            |golden| golden.surroundings = Surroundings::NormalizedByInterleavedGroup;
        BoundsInSevenDigits = "bounds-in-seven-digits",
            "Clip rounds its bounds to seven significant decimal digits.",
            |golden| golden.clip.bounds_in_seven_digits = true;
        LowerBoundLast = "lower-bound-last",
            "Clip returns its lower bound if that is above its upper bound.",
            |golden| golden.clip.lower_bound_last = true;
        PoolPaddingZero = "pool-padding-zero",
            "`MaxPool` reads zeros beyond its input: in the padding, and wherever `ceil_mode` reaches further.",
            |golden| golden.surroundings = Surroundings::PoolPaddingZero;
        PoolPaddingLowest = "pool-padding-lowest",
            "`MaxPool` reads the lowest finite number beyond its input along the last axis: in the padding, and wherever `ceil_mode` reaches further.",
            |golden| golden.surroundings = Surroundings::PoolPaddingLowest;
        PoolFromLowest = "pool-from-lowest",
            "`MaxPool` starts from the lowest finite number, which is what windows of minus infinity give.",
            |golden| golden.surroundings = Surroundings::PoolFromLowest;
        ConcatWithOneScale = "concat-with-one-scale",
            "Concat reads all its quantized inputs with the scale of the first.",
            |golden| golden.surroundings = Surroundings::ConcatWithOneScale;
    }
    Precision {
        OperandsInTf32 = "operands-in-tf32",
            "Operands of a convolution are rounded to 11 bits of significand, as in TF32 and 16-bit floats.",
            |golden| golden.operands = Some(to_tf32);
        OperandsInBfloat16 = "operands-in-bfloat16",
            "Operands of a convolution are rounded to bfloat16.",
            |golden| golden.operands = Some(to_bfloat16);
        SumsInHalf = "sums-in-half",
            "Products of a convolution are summed in 16-bit floats.",
            |golden| golden.sums = Accumulator::Half;
    }
}

impl Semantics {
    /// The semantics of ONNX with all of these mutants applied.
    pub fn of(mutants: &[Mutant]) -> Self {
        let mut semantics = Self::default();
        for mutant in mutants {
            mutant.apply(&mut semantics);
        }
        semantics
    }
}

impl Mutant {
    /// The mutant that makes the same mistake in both directions, if this one makes it in one.
    pub const fn both_ways(self) -> Option<Self> {
        match self {
            Self::SameUpperAsLower | Self::SameLowerAsUpper => Some(Self::SameSwapped),
            Self::ScaleAlongAxis0 | Self::ScaleAlongAxis1 => Some(Self::ScaleOnOtherAxis),
            Self::DequantizedAlongAxis0 | Self::DequantizedAlongAxis1 => Some(Self::DequantizedOnOtherAxis),
            _ => None,
        }
    }

    /// The mutant that makes the same mistake in QuantizeLinear too, if this one makes it in DequantizeLinear alone.
    pub const fn in_both_quantizers(self) -> Option<Self> {
        match self {
            Self::DequantizedAlongAxis0 => Some(Self::ScaleAlongAxis0),
            Self::DequantizedAlongAxis1 => Some(Self::ScaleAlongAxis1),
            Self::DequantizedOnOtherAxis => Some(Self::ScaleOnOtherAxis),
            _ => None,
        }
    }

    /// The mutant called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }
}
