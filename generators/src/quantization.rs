use crate::{AxisForm, Menu, Quantizer, Scaling};

/// The quantization of values and weights.
///
/// The types and zero points on a menu apply in both regimes and in all versions of the operator set. One scale per
/// channel needs version 13, and half precision needs version 19.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// Whether anything is quantized.
    pub applies: Menu<bool>,
    /// The features of quantization that a case uses, within what the other menus offer.
    pub dialect: Menu<Dialect>,
    /// Numbers of input and output channels, beyond those of the space, of a convolution without groups: a single
    /// convolution, or the ConvTranspose of an encoder and decoder.
    pub wide: Menu<Option<(usize, usize)>>,
    /// The quantizer of a convolution's input.
    pub activation: Menu<Option<Quantizer>>,
    /// The quantizer of the last value.
    pub output: Menu<Option<Quantizer>>,
    /// Whether a graph input that only a quantizer reads is fed as integers.
    pub integer_input: Menu<bool>,
    /// Whether the last value, if it is quantized, stays integers.
    pub integer_output: Menu<bool>,
    /// The quantizer of the weights.
    pub weights: Menu<Quantizer>,
    /// The part of a weight that shares a scale.
    pub scaling: Menu<Scaling>,
    /// How the attribute `axis` is written.
    pub axis: Menu<AxisForm>,
}

/// The features of ONNX quantization that a case uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// All features.
    Onnx,
    /// Only signed integers with a zero point of zero.
    Symmetric,
    /// As `Symmetric`, with every zero point written and no integer bias: the form that all hardware computes.
    Explicit,
}
