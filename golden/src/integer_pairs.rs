//! Products of uint8 and int8 summed in pairs, as instructions for processors without 32-bit dot products sum them.

use twinfer_onnx::DataType;

use crate::integer_operand::Integers;

/// The limits at which a pair of products saturates.
const RANGE: (f64, f64) = (i16::MIN as f64, i16::MAX as f64);
/// The offset from int8 to uint8.
const TO_UNSIGNED: f64 = 128.0;

/// The operands of a convolution as uint8 and int8.
pub struct IntegerPairs {
    x: Vec<f64>,
    /// The value of padding.
    x_zero_point: f64,
    w: Vec<f64>,
    /// One value, or one per output channel.
    scales: Vec<f64>,
}

impl IntegerPairs {
    /// The operands as uint8 and int8; `None` if the integers are of other types, or if scales are not per output
    /// channel.
    pub fn of(x: &Integers<'_>, w: &Integers<'_>) -> Option<Self> {
        let (DataType::Int8 | DataType::Uint8, DataType::Int8) = (x.value.dtype, w.value.dtype) else {
            return None;
        };
        let [x_scale] = x.scale.elements[..] else { return None };
        if w.scale.elements.len() > 1 && w.axis != 0 {
            return None;
        }
        let shift = if x.value.dtype == DataType::Int8 { TO_UNSIGNED } else { 0.0 };
        let zero_point = x.zero_point.as_ref().and_then(|zero_point| zero_point.elements.first().copied());
        Some(Self {
            x: x.value.elements.iter().map(|x| x + shift).collect(),
            x_zero_point: zero_point.unwrap_or(0.0) + shift,
            w: w.value.elements.clone(),
            scales: w.scale.elements.iter().map(|w_scale| w_scale * x_scale).collect(),
        })
    }

    /// The product of padding with a weight.
    pub fn padding(&self, w: usize) -> f64 {
        self.x_zero_point * self.w[w]
    }

    /// The product of an element with a weight.
    pub fn product(&self, x: usize, w: usize) -> f64 {
        self.x[x] * self.w[w]
    }

    /// How far saturation moves a sum of these products for an output channel.
    pub fn excess(&self, products: &[f64], channel: usize) -> f64 {
        let (lowest, highest) = RANGE;
        let excess = |pair: &[f64]| {
            let sum: f64 = pair.iter().sum();
            sum.clamp(lowest, highest) - sum
        };
        let integers: f64 = products.chunks(2).map(excess).sum();
        integers * self.scales[channel % self.scales.len().max(1)]
    }
}
