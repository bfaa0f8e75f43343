use std::fmt;

use serde::{Deserialize, Serialize};

/// A statement about one node of a graph, which holds or does not hold for the first run of its case.
///
/// `Display` gives it in ONNX's words, as reports show it.
///
/// ```
/// use twinfer_case::{Fact, Axes, Quantity, Relation};
///
/// let grouped = Fact::Number(Axes::Some, Quantity::Group, Relation::Above, 1);
/// assert_eq!(grouped.to_string(), "group > 1");
/// let strided = Fact::Number(Axes::Every, Quantity::Stride, Relation::Equal, 2);
/// assert_eq!(strided.to_string(), "stride = 2 on every axis");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// The node has this property.
    Is(Property),
    /// The node does not have this property.
    IsNot(Property),
    /// A quantity is in this relation to a number.
    Number(Axes, Quantity, Relation, i64),
    /// Two quantities of the same axis are in this relation.
    Pair(Axes, Quantity, Relation, Quantity),
    /// A quantity is odd.
    Odd(Axes, Quantity),
    /// A quantity is even.
    Even(Axes, Quantity),
    /// A quantity differs between spatial axes.
    Varies(Quantity),
    /// A quantity is the same on every spatial axis.
    Uniform(Quantity),
}

/// Where a statement about quantities holds; without a meaning for a quantity that has one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axes {
    /// On at least one spatial axis.
    Some,
    /// On every spatial axis.
    Every,
    /// On the last spatial axis.
    Last,
}

/// How two numbers are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each variant is the relation of its name")]
pub enum Relation {
    Equal,
    Unequal,
    Above,
    AtMost,
    /// The first number is a multiple of the second.
    MultipleOf,
    /// The first number is no multiple of the second.
    NoMultipleOf,
}

/// A number that a node has: once, or for every spatial axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// The attribute `group`.
    Group,
    /// Input channels.
    Channels,
    /// Output channels.
    OutputChannels,
    /// Input channels of one group.
    GroupInputs,
    /// Output channels of one group.
    GroupOutputs,
    /// The batch: the first extent of the data.
    Batch,
    /// Spatial axes.
    SpatialAxes,
    /// Axes of the data.
    Rank,
    /// The attribute `axis`, counted from the front.
    Axis,
    /// Scales of a quantizer.
    Scales,
    /// Inputs of the node.
    Inputs,
    /// The operator set.
    Opset,
    /// The extent of the data along a spatial axis.
    Extent,
    /// The extent of the result along a spatial axis.
    OutputExtent,
    /// The extent of the kernel along a spatial axis.
    Kernel,
    /// An entry of `strides`.
    Stride,
    /// An entry of `dilations`.
    Dilation,
    /// The padding at the start of a spatial axis, however it is given.
    PadBegin,
    /// The padding at the end of a spatial axis, however it is given.
    PadEnd,
    /// The padding at both ends of a spatial axis, however it is given.
    Pads,
    /// An entry of `output_padding`.
    OutputPadding,
    /// The last extent of the data, which may have any number of axes.
    LastExtent,
    /// The power of two, negated, that is the largest one not above the smallest scale of a quantizer: 4 for scales from 1/16 to less than 1/8.
    SmallestScale,
}

impl Quantity {
    /// The quantity in ONNX's words, as facts show it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Channels => "input channels",
            Self::OutputChannels => "output channels",
            Self::GroupInputs => "input channels per group",
            Self::GroupOutputs => "output channels per group",
            Self::Batch => "batch",
            Self::SpatialAxes => "spatial axes",
            Self::Rank => "rank",
            Self::Axis => "axis",
            Self::Scales => "number of scales",
            Self::Inputs => "number of inputs",
            Self::Opset => "opset",
            Self::Extent => "input extent",
            Self::OutputExtent => "output extent",
            Self::Kernel => "kernel size",
            Self::Stride => "stride",
            Self::Dilation => "dilation",
            Self::PadBegin => "pad at the start",
            Self::PadEnd => "pad at the end",
            Self::Pads => "sum of the pads",
            Self::OutputPadding => "output_padding",
            Self::LastExtent => "last extent",
            Self::SmallestScale => "smallest scale",
        }
    }

    /// Whether [`words`](Self::words) takes a verb in the plural.
    const fn is_plural(self) -> bool {
        matches!(
            self,
            Self::Channels
                | Self::OutputChannels
                | Self::GroupInputs
                | Self::GroupOutputs
                | Self::SpatialAxes
        )
    }

    /// The verb after [`words`](Self::words).
    const fn verb(self) -> &'static str {
        if self.is_plural() { "are" } else { "is" }
    }

    /// Whether a node may have 0 of it.
    pub const fn may_be_zero(self) -> bool {
        matches!(
            self,
            Self::Rank
                | Self::Axis
                | Self::PadBegin
                | Self::PadEnd
                | Self::Pads
                | Self::OutputPadding
                | Self::SmallestScale
        )
    }

    /// Whether its value is the exponent of a power of two, which is neither even nor odd.
    pub const fn is_exponent(self) -> bool {
        matches!(self, Self::SmallestScale)
    }

    /// Whether it is a number of channels.
    pub const fn counts_channels(self) -> bool {
        matches!(self, Self::Channels | Self::OutputChannels | Self::GroupInputs | Self::GroupOutputs)
    }

    /// Whether there is one for every spatial axis.
    pub const fn is_per_axis(self) -> bool {
        matches!(
            self,
            Self::Extent
                | Self::OutputExtent
                | Self::Kernel
                | Self::Stride
                | Self::Dilation
                | Self::PadBegin
                | Self::PadEnd
                | Self::Pads
                | Self::OutputPadding
        )
    }
}

macro_rules! properties {
    ($($variant:ident = $is:literal, $is_not:literal;)*) => {
        /// Something that holds for a node or does not hold.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[expect(missing_docs, reason = "`is` states each variant in words")]
        pub enum Property {
            $($variant,)*
        }

        impl Property {
            /// Every property.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The property as a statement.
            pub const fn is(self) -> &'static str {
                match self { $(Self::$variant => $is,)* }
            }

            /// The statement that the property does not hold.
            pub const fn is_not(self) -> &'static str {
                match self { $(Self::$variant => $is_not,)* }
            }
        }
    };
}

properties! {
    Bias = "there is a bias", "there is no bias";
    Depthwise = "it is depthwise", "it is not depthwise";
    Same = "auto_pad = SAME_UPPER or SAME_LOWER", "auto_pad is neither SAME_UPPER nor SAME_LOWER";
    SameUpper = "auto_pad = SAME_UPPER", "auto_pad ≠ SAME_UPPER";
    SameLower = "auto_pad = SAME_LOWER", "auto_pad ≠ SAME_LOWER";
    Valid = "auto_pad = VALID", "auto_pad ≠ VALID";
    OutputShape = "output_shape is set", "output_shape is not set";
    NoKernelShape = "kernel_shape is not set", "kernel_shape is set";
    CeilMode = "ceil_mode = 1", "ceil_mode = 0";
    InitializerWeights = "the weights are an initializer", "the weights are no initializer";
    ComputedWeights = "the weights do not come from an initializer", "the weights come from an initializer";
    ComputedBias = "the bias does not come from an initializer", "the bias, if any, comes from an initializer";
    DequantizedData = "the data is dequantized", "the data is not dequantized";
    DequantizedWeights = "the weights are dequantized", "the weights are not dequantized";
    DequantizedBias = "the bias is dequantized", "the bias, if any, is not dequantized";
    RequantizedResult = "the result is quantized", "the result is not quantized";
    DataZeroPoint = "the zero point of the data ≠ 0", "the zero point of the data is 0 or absent";
    WeightZeroPoint = "a zero point of the weights ≠ 0", "the zero points of the weights are 0 or absent";
    WeightScales = "the weights have several scales", "the weights have one scale or none";
    DataAsUint8 = "the data is quantized as UINT8", "the data is not quantized as UINT8";
    WeightsAsUint8 = "the weights are quantized as UINT8", "the weights are not quantized as UINT8";
    ResultAsUint8 = "the result is quantized as UINT8", "the result is not quantized as UINT8";
    Float16 = "data or result is FLOAT16", "neither data nor result is FLOAT16";
    Bfloat16 = "data or result is BFLOAT16", "neither data nor result is BFLOAT16";
    Int8 = "the integers are INT8", "the integers are not INT8";
    Uint8 = "the integers are UINT8", "the integers are not UINT8";
    Int32 = "the integers are INT32", "the integers are not INT32";
    ScalarScale = "the scale is a scalar", "the scale is no scalar";
    AxisSet = "axis is set", "axis is not set";
    NegativeAxis = "axis < 0", "axis ≥ 0";
    EpsilonSet = "epsilon is set", "epsilon is not set";
    MomentumSet = "momentum is set", "momentum is not set";
    ZeroPoint = "there is a zero point", "there is no zero point";
    NonzeroZeroPoint = "a zero point ≠ 0", "every zero point is 0 or absent";
    InitializerData = "the data is an initializer", "the data is no initializer";
    GraphInputData = "the data is a graph input", "the data is no graph input";
    AfterConv = "Conv gives the data", "Conv does not give the data";
    AfterConvTranspose = "ConvTranspose gives the data", "ConvTranspose does not give the data";
    AfterRelu = "Relu gives the data", "Relu does not give the data";
    AfterQuantize = "QuantizeLinear gives the data", "QuantizeLinear does not give the data";
    OfConstant = "the data comes from an initializer", "the data does not come from an initializer";
    OfGraphInput = "the data comes from a graph input", "the data does not come from a graph input";
    GraphOutput = "the result is a graph output", "the result is not a graph output";
    BeforeRelu = "Relu reads the result", "no Relu reads the result";
    BeforeAdd = "Add reads the result", "no Add reads the result";
    BeforeBatchNormalization = "BatchNormalization reads the result", "no BatchNormalization reads the result";
    BeforeQuantize = "QuantizeLinear reads the result", "no QuantizeLinear reads the result";
    BeforeDequantize = "DequantizeLinear reads the result", "no DequantizeLinear reads the result";
    BeforeConv = "Conv reads the result", "no Conv reads the result";
    BeforeConvTranspose = "ConvTranspose reads the result", "no ConvTranspose reads the result";
    FirstBroadcast = "the first operand is broadcast", "the first operand is not broadcast";
    Broadcast = "the operands differ in shape", "the operands have the same shape";
    ConstantOperand = "an operand is an initializer", "no operand is an initializer";
    SeveralRuns = "the case has several runs", "the case has one run";
    Dynamic = "the graph has symbolic dimensions", "all dimensions of the graph are fixed";
    SpecialValues = "infinities or NaN are among the values", "all values are finite";
}

impl Relation {
    /// The verb of a statement about `quantity`.
    const fn words(self, quantity: Quantity) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Unequal => "≠",
            Self::Above => ">",
            Self::AtMost => "≤",
            Self::MultipleOf if quantity.is_plural() => "are a multiple of",
            Self::MultipleOf => "is a multiple of",
            Self::NoMultipleOf if quantity.is_plural() => "are no multiple of",
            Self::NoMultipleOf => "is no multiple of",
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Is(property) => f.write_str(property.is()),
            Self::IsNot(property) => f.write_str(property.is_not()),
            Self::Number(_, quantity, relation, number) if quantity.is_exponent() => {
                // a larger exponent, which is negated, makes a smaller number
                let verb = if relation == Relation::Above { "<" } else { "≥" };
                write!(f, "{} {verb} 2^{}", quantity.words(), -i128::from(number))
            }
            Self::Number(place, quantity, relation, number) => {
                let verb = relation.words(quantity);
                write!(f, "{} {verb} {number}{}", quantity.words(), place.words(quantity))
            }
            Self::Pair(place, one, relation, other) => {
                let verb = relation.words(one);
                write!(f, "{} {verb} {}{}", one.words(), other.words(), place.words(one))
            }
            Self::Odd(place, quantity) => {
                write!(f, "{} {} odd{}", quantity.words(), quantity.verb(), place.words(quantity))
            }
            Self::Even(place, quantity) => {
                write!(f, "{} {} even{}", quantity.words(), quantity.verb(), place.words(quantity))
            }
            Self::Varies(quantity) => write!(f, "{} differs between axes", quantity.words()),
            Self::Uniform(quantity) => write!(f, "{} is the same on every axis", quantity.words()),
        }
    }
}

impl Axes {
    const fn words(self, quantity: Quantity) -> &'static str {
        match self {
            _ if !quantity.is_per_axis() => "",
            Self::Some => " on some axis",
            Self::Every => " on every axis",
            Self::Last => " on the last axis",
        }
    }
}
