use twinfer_onnx::{Axis, Op};

use crate::{
    edit::{AttributeEdit, NumberEdit},
    partial_sums::PartialSums,
    quantization::IntegerConversion,
    reduction::Reduction,
    taps::{Between, Direction, Fill, Outside, Reach},
};

/// The semantics of an evaluation. The default is ONNX; each mutant changes one fact.
#[derive(Clone, Debug, Default)]
pub struct Semantics {
    /// Changes to an operator's attributes before they are used. They may change shapes.
    pub attributes: Vec<fn(&mut Op)>,
    /// Another reading of an attribute. It may change shapes.
    pub attribute: Option<AttributeEdit>,
    /// Changes to the reach of a convolution's kernel along an axis, which keep the shape.
    pub reach: Vec<fn(&mut Reach, &Axis, Direction)>,
    /// A change to the numbers of windows, which keep their shape unless attributes are changed with them.
    pub numbers: Option<NumberEdit>,
    /// What windows read outside of the data.
    pub outside: Outside,
    /// The number that windows read where there is no data; `None` for nothing.
    pub fill: Option<Fill>,
    /// What a `ConvTranspose` reads between strides.
    pub between: Between,
    /// The rounding of partial sums of a convolution.
    pub partial_sums: Option<PartialSums>,
    /// What `MaxPool` makes of a window.
    pub reduction: Reduction,
    /// The assignment of input channels to groups.
    pub groups: GroupOrder,
    /// The order of the channels of a weight.
    pub weights: WeightOrder,
    /// The treatment of the bias.
    pub bias: Bias,
    /// The positions without a tap that do not hold the bias either.
    pub bare: Bare,
    /// The treatment of float weights between quantizers.
    pub float_weights: FloatWeights,
    /// The rounding of a convolution's operands.
    pub operands: Option<fn(f64) -> f64>,
    /// The type in which products are summed.
    pub sums: Accumulator,
    /// The rounding and saturation of quantizers.
    pub conversion: IntegerConversion,
    /// The choice of the scale for an element.
    pub scales: Scales,
    /// The origins of values for which QuantizeLinear followed by DequantizeLinear is skipped.
    pub unquantized: Origins,
    /// The origins of values of three dimensions that are read with the first two axes exchanged once they are quantized with several scales.
    pub exchanged: Origins,
    /// The treatment of two pairs of QuantizeLinear and DequantizeLinear, one behind the other.
    pub successive_pairs: SuccessivePairs,
    /// The origins of values from which DequantizeLinear does not subtract the zero point.
    pub unshifted: Origins,
    /// The origins of values for which neither QuantizeLinear nor DequantizeLinear applies the zero point.
    pub centered: Origins,
    /// The interpretation of unsigned integers by quantizers.
    pub unsigned: Unsigned,
    /// Changes to operators other than convolutions, quantizers and Clip.
    pub surroundings: Surroundings,
    /// Changes to Clip.
    pub clip: ClipChange,
}

/// The assignment of input channels to groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupOrder {
    /// Consecutive channels, as in ONNX.
    #[default]
    Contiguous,
    /// Every `groups`-th channel; only mutants do that.
    Interleaved,
    /// The channels of the first group for every group; only mutants do that.
    FirstOnly,
    /// Consecutive channels, while output channels are assigned to the groups in turn; only mutants do that.
    Dealt,
}

/// The order of the channels of a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightOrder {
    /// The order of ONNX.
    #[default]
    Stated,
    /// The order of ONNX for a convolution of the other direction; only mutants do that.
    Exchanged,
}

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Computed from initializers alone.
    Constant,
    /// A graph input, possibly quantized or dequantized.
    Input,
    /// The result of another operator.
    Result,
}

/// A set of origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    pub constants: bool,
    pub inputs: bool,
    pub results: bool,
}

impl Origins {
    pub const fn contain(self, origin: Origin) -> bool {
        match origin {
            Origin::Constant => self.constants,
            Origin::Input => self.inputs,
            Origin::Result => self.results,
        }
    }
}

/// The treatment of a convolution's bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bias {
    /// The bias is added everywhere, as in ONNX.
    #[default]
    Everywhere,
    /// The bias is dropped.
    Dropped,
    /// The bias is rounded to whole steps of the products of quantized operands.
    InProductSteps,
    /// The bias is rounded to whole steps of the output and added after the sum is quantized.
    AfterRequantization,
}

/// Positions of a convolution's output that no tap of the kernel reaches and that hold zero; in ONNX there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bare {
    /// Positions in front of the last tap or between taps, and windows that lie in the padding.
    pub gaps: bool,
    /// Positions that `output_padding` appends behind the last tap.
    pub strip: bool,
}

/// The type in which a convolution sums products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accumulator {
    /// The accumulator of the backends' arithmetic.
    #[default]
    Known,
    /// 16-bit floats, whatever the operands.
    Half,
    /// 16-bit integers that saturate, for each pair of products of uint8 and int8; what the arithmetic says, for the pairs.
    SaturatingPairs,
}

/// The treatment of the float weights of a convolution whose other operand is dequantized and whose result is
/// quantized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FloatWeights {
    /// The weights are used unchanged.
    #[default]
    AsStated,
    /// The weights are rounded to 256 steps of the smallest range that contains all of them and zero.
    Quantized,
}

/// The treatment of two pairs of QuantizeLinear and DequantizeLinear, one behind the other, each with one scale and of the same types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SuccessivePairs {
    /// Each quantizes, as in ONNX.
    #[default]
    Kept,
    /// One quantizes, with the range that both have in common; only mutants do that.
    Merged,
}

/// The choice of the scale for an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scales {
    /// The scale of its position along `axis`, as in ONNX.
    #[default]
    AlongAxis,
    /// The axis is taken for another one, and the first scale serves positions that have none.
    Moved(AxisMove),
    /// The same by DequantizeLinear only.
    MovedWhenDequantized(AxisMove),
    /// The first scale for every element.
    First,
    /// Axis 0. Along this and all other axes below, the scales serve positions in turn that have none.
    AlongFirstAxis,
    /// Axis 1, the default of `axis`.
    AlongSecondAxis,
    /// The last axis.
    AlongLastAxis,
    /// The axis before `axis`, if there is one.
    AlongPreviousAxis,
    /// The axis behind `axis`, if there is one.
    AlongNextAxis,
    /// As many axes from the last as `axis` is from the first.
    AlongReversedAxis,
}

/// The axis that quantizers take for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisMove {
    /// Axis 0 is taken for axis 1.
    FirstToSecond,
    /// Every axis but 0 is taken for axis 0.
    OthersToFirst,
    /// Both.
    Exchanged,
}

impl AxisMove {
    /// The axis for which `axis` is taken.
    pub const fn moved(self, axis: usize) -> usize {
        match (self, axis) {
            (Self::FirstToSecond | Self::Exchanged, 0) => 1,
            (Self::FirstToSecond, axis) => axis,
            (Self::OthersToFirst | Self::Exchanged, _) => 0,
        }
    }
}

impl Scales {
    /// Other choices of the axis.
    pub const OTHER_AXES: &[Self] = &[
        Self::AlongFirstAxis,
        Self::AlongSecondAxis,
        Self::AlongLastAxis,
        Self::AlongPreviousAxis,
        Self::AlongNextAxis,
        Self::AlongReversedAxis,
    ];

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::AlongAxis => "axis",
            Self::Moved(_) => "other-axis",
            Self::MovedWhenDequantized(_) => "other-axis-when-dequantized",
            Self::First => "first-scale",
            Self::AlongFirstAxis => "axis-0",
            Self::AlongSecondAxis => "axis-1",
            Self::AlongLastAxis => "axis-last",
            Self::AlongPreviousAxis => "axis-previous",
            Self::AlongNextAxis => "axis-next",
            Self::AlongReversedAxis => "axis-reversed",
        }
    }

    /// Where sentences say that scales are applied.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::AlongAxis => "along `axis`",
            Self::Moved(_) => "along another axis",
            Self::MovedWhenDequantized(_) => "along another axis by DequantizeLinear",
            Self::First => "of the first channel everywhere",
            Self::AlongFirstAxis => "along axis 0",
            Self::AlongSecondAxis => "along axis 1",
            Self::AlongLastAxis => "along the last axis",
            Self::AlongPreviousAxis => "along the axis before `axis`, if there is one",
            Self::AlongNextAxis => "along the axis behind `axis`, if there is one",
            Self::AlongReversedAxis => "along an axis that is counted from the last one",
        }
    }
}

/// The interpretation of unsigned integers by quantizers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsigned {
    /// Unsigned, as in ONNX.
    #[default]
    Kept,
    /// DequantizeLinear reads them as two's complement.
    ReadAsSigned,
    /// `QuantizeLinear` gives signed ones of their size in their place, and `DequantizeLinear` reads those.
    TakenForSigned,
}

/// Changes to Clip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClipChange {
    /// Its bounds are rounded to seven significant decimal digits.
    pub bounds_in_seven_digits: bool,
    /// Its lower bound is applied last, and decides if it is above the upper one.
    pub lower_bound_last: bool,
}

/// Changes to operators other than convolutions, quantizers and Clip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surroundings {
    /// No change.
    #[default]
    AsStated,
    /// Relu does nothing.
    ReluDropped,
    /// Add returns its first operand.
    AddendDropped,
    /// BatchNormalization adds no epsilon to the variance.
    EpsilonIgnored,
    /// BatchNormalization is folded into the weights of the ConvTranspose in front of it as if the input channels of the groups were
    /// interleaved.
    NormalizedByInterleavedGroup,
    /// `MaxPool` sees zeros beyond its input.
    PoolPaddingZero,
    /// `MaxPool` sees the lowest finite number beyond the end of its input along the last axis.
    PoolPaddingLowest,
    /// `MaxPool` sees the lowest finite number in every window.
    PoolFromLowest,
    /// Concat reads all its quantized parts with the scale of the first.
    ConcatWithOneScale,
}
