use crate::{AxisForm, Menu, Quantizer, Scaling};

/// How values and weights become integers.
///
/// Types and zero points that a menu offers are those of both regimes and of all versions of the operator set; one scale
/// a channel needs version 13, and half precision 19.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// Whether anything is quantized.
    pub applies: Menu<bool>,
    /// How much of quantization a case has, as far as the other menus offer it.
    pub dialect: Menu<Dialect>,
    /// Channels in and out, beyond those of the space, of a convolution without groups: one that is alone, or the
    /// ConvTranspose of an encoder and decoder.
    pub wide: Menu<Option<(usize, usize)>>,
    /// What quantizes the input of a convolution.
    pub activation: Menu<Option<Quantizer>>,
    /// What quantizes the last value.
    pub output: Menu<Option<Quantizer>>,
    /// Whether an input of the graph that only a quantizer reads is integers already.
    pub integer_input: Menu<bool>,
    /// Whether the last value, where it is quantized, is not dequantized.
    pub integer_output: Menu<bool>,
    /// What quantizes weights.
    pub weights: Menu<Quantizer>,
    /// What shares a scale in weights.
    pub scaling: Menu<Scaling>,
    /// How the attribute `axis` is written.
    pub axis: Menu<AxisForm>,
}

/// How much of what ONNX has for quantization a case has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// All of it.
    Onnx,
    /// Signed integers with zero for zero, and no others.
    Symmetric,
    /// As `Symmetric`, with every zero point written and no integers for a bias: what all hardware computes with.
    Explicit,
}
