use twinfer_onnx::{Axis, Op};

use crate::{
    Mutant,
    convolution::{GroupOrder, WeightOrder},
    quantization::IntegerConversion,
    taps::{Direction, Reach},
};

/// What golden takes ONNX to say. The default is what it does say; each mutant changes one point.
#[derive(Clone, Debug, Default)]
pub struct Semantics {
    /// Changes to an operator's attributes, before anything reads them: these may change shapes.
    pub attributes: Vec<fn(&mut Op)>,
    /// Changes to how the kernel of a convolution reaches along an axis; the shape stays.
    pub reach: Vec<fn(&mut Reach, &Axis, Direction)>,
    /// Which input channels belong to a group.
    pub groups: GroupOrder,
    /// How the channels of a weight are laid out.
    pub weights: WeightOrder,
    /// What becomes of the bias.
    pub bias: Bias,
    /// Where no tap of the kernel reaches, and the bias is not added either.
    pub bare: Bare,
    /// What becomes of float weights between quantizers.
    pub float_weights: FloatWeights,
    /// What the operands of a convolution are rounded by.
    pub operands: Option<fn(f64) -> f64>,
    /// What products are summed in.
    pub sums: Accumulator,
    /// How numbers become integers.
    pub conversion: IntegerConversion,
    /// Which scale an element takes.
    pub scales: Scales,
    /// Where quantizing followed by dequantizing is left out.
    pub unquantized: Origins,
    /// Where DequantizeLinear does not subtract the zero point.
    pub unshifted: Origins,
    /// Where neither QuantizeLinear nor DequantizeLinear knows of a zero point.
    pub centered: Origins,
    /// What quantizers take unsigned integers for.
    pub unsigned: Unsigned,
    /// What happens around convolutions.
    pub surroundings: Surroundings,
}

impl Semantics {
    /// ONNX as these mutants take it.
    pub fn of(mutants: &[Mutant]) -> Self {
        let mut semantics = Self::default();
        for mutant in mutants {
            mutant.apply(&mut semantics);
        }
        semantics
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From initializers alone.
    Constant,
    /// From what is fed, perhaps quantized or dequantized.
    Input,
    /// From an operator.
    Result,
}

/// Some of the origins.
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

/// What becomes of a convolution's bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bias {
    /// It is added everywhere, as ONNX says.
    #[default]
    Everywhere,
    /// It is not added.
    Dropped,
    /// It is rounded to whole steps of the products of quantized operands.
    InProductSteps,
    /// It is rounded to whole steps of the output and added after the sum was quantized.
    AfterRequantization,
}

/// Positions of a convolution's output that no tap of the kernel reaches and that hold zero; by ONNX, none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bare {
    /// Those in front of the last tap or between taps, and windows that lie in the padding.
    pub gaps: bool,
    /// Those that `output_padding` appends behind the last tap.
    pub strip: bool,
}

/// What a convolution sums products in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accumulator {
    /// What the arithmetic of the backends says.
    #[default]
    Known,
    /// 16-bit floats, whatever the operands.
    Half,
    /// 16-bit integers that saturate, for each pair of products of uint8 and int8; what the arithmetic says, for the pairs.
    SaturatingPairs,
}

/// What becomes of the float weights of a convolution whose other operand is dequantized and whose result is quantized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FloatWeights {
    /// They are taken as they are.
    #[default]
    AsStated,
    /// They are rounded to 256 steps between the least and the largest of them and zero.
    Quantized,
}

/// Which scale an element takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scales {
    /// That of its position along `axis`, as ONNX says.
    #[default]
    AlongAxis,
    /// Axis 0 and axis 1 are taken for each other.
    AlongOtherAxis,
    /// The same, only in a DequantizeLinear that follows a QuantizeLinear.
    DequantizedAlongOtherAxis,
    /// The first.
    First,
}

/// What quantizers take unsigned integers for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsigned {
    /// What they are.
    #[default]
    Kept,
    /// DequantizeLinear reads them as two's complement.
    ReadAsSigned,
    /// `QuantizeLinear` gives signed ones of their size in their place, and `DequantizeLinear` reads those.
    TakenForSigned,
}

/// What happens around convolutions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surroundings {
    /// What ONNX says.
    #[default]
    AsStated,
    /// Relu does nothing.
    ReluDropped,
    /// Add gives its first operand.
    AddendDropped,
    /// BatchNormalization adds no epsilon to the variance.
    EpsilonIgnored,
    /// `MaxPool` sees zeros beyond its input.
    PoolPaddingZero,
    /// Concat reads all its quantized parts with the scale of the first.
    ConcatWithOneScale,
}
