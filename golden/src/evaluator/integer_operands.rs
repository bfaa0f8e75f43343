//! The integers that an integer kernel multiplies; only mutants ask for them.

use std::borrow::Cow;

use twinfer_onnx::{DataType, Node, Op, Tensor, resolve_axis};

use super::Evaluator;
use crate::{
    integer_pairs::IntegerPairs,
    quantization::{Parameters, dequantize, quantize},
    semantics::{Accumulator, FloatWeights, Origin},
    value::Value,
};

/// An operand of a convolution as integers, and what they stand for.
pub struct Integers<'a> {
    pub value: Cow<'a, Value>,
    pub scale: Cow<'a, Value>,
    pub zero_point: Option<Cow<'a, Value>>,
    /// Along which the scales lie where there are several.
    pub axis: usize,
}

impl Evaluator<'_> {
    /// The weights of a convolution, and the integers behind them where they have any.
    pub(super) fn weights(&self, node: &Node) -> (Cow<'_, Value>, Option<Integers<'_>>) {
        let stated = self.input(node, 1);
        if let Some(integers) = self.integers_behind(&node.inputs[1]) {
            return (Cow::Borrowed(stated), Some(integers));
        }
        match self.quantized_weights(node) {
            Some(integers) => {
                let (dequantized, _) = dequantize(&integers.value, &integers.parameters(), self.arithmetic);
                (Cow::Owned(dequantized), Some(integers))
            }
            None => (Cow::Borrowed(stated), None),
        }
    }

    /// Pairs of products that saturate, where a mutant asks for them and an integer kernel would have them.
    pub(super) fn pairs(&self, node: &Node, weights: Option<&Integers<'_>>) -> Option<IntegerPairs> {
        if self.semantics.sums != Accumulator::SaturatingPairs || !matches!(node.op, Op::Conv(_)) {
            return None;
        }
        self.requantizer(node)?;
        IntegerPairs::of(&self.integers_behind(&node.inputs[0])?, weights?)
    }

    /// What a DequantizeLinear reads that gives `name`.
    pub(super) fn integers_behind(&self, name: &str) -> Option<Integers<'_>> {
        let dequantizer = self.producer(name)?;
        let Op::DequantizeLinear(op) = &dequantizer.op else { return None };
        let rank = self.input(dequantizer, 0).shape.len();
        let axis = resolve_axis(op.axis.unwrap_or(1), rank.max(2)).unwrap_or(0);
        let value = |place: usize| self.optional_input(dequantizer, place).map(Cow::Borrowed);
        Some(Integers { value: value(0)?, scale: value(1)?, zero_point: value(2), axis })
    }

    /// Constant weights that nothing quantizes, where a mutant does.
    fn quantized_weights(&self, node: &Node) -> Option<Integers<'static>> {
        let name = node.inputs[1].as_str();
        let is_constant = self.producer(name).is_none() && self.origins.get(name) == Some(&Origin::Constant);
        let is_meant = self.semantics.float_weights == FloatWeights::Quantized && is_constant;
        let weights = Some(self.input(node, 1)).filter(|w| is_meant && w.dtype == DataType::Float)?;
        self.integers_behind(&node.inputs[0])?;
        self.requantizer(node)?;
        let (scale, zero_point) = of_range(&weights.elements);
        let given = |dtype, x| {
            let tensor = Tensor::from_f64(dtype, Vec::new(), &[x]).ok()?;
            Some(Cow::Owned(Value::given(&tensor, self.arithmetic)))
        };
        let mut quantized = Integers {
            value: Cow::Owned(weights.clone()),
            scale: given(DataType::Float, scale)?,
            zero_point: given(DataType::Int8, zero_point),
            axis: 0,
        };
        let (integers, _) = quantize(weights, &quantized.parameters(), DataType::Int8);
        quantized.value = Cow::Owned(integers);
        Some(quantized)
    }
}

impl Integers<'_> {
    fn parameters(&self) -> Parameters<'_> {
        Parameters {
            scale: &self.scale,
            zero_point: self.zero_point.as_deref(),
            axis: self.axis,
            only_first: false,
            manner: crate::quantization::Manner::ONNX,
        }
    }
}

/// Scale and zero point with which int8 reaches from the least to the largest of `elements` and zero.
fn of_range(elements: &[f64]) -> (f64, f64) {
    let (least, largest) =
        elements.iter().fold((0.0, 0.0), |(least, largest): (f64, f64), x| (least.min(*x), largest.max(*x)));
    let scale = f64::from(((largest - least) / 255.0) as f32);
    if scale > 0.0 {
        (scale, (-128.0 - least / scale).round_ties_even().clamp(-128.0, 127.0))
    } else {
        (1.0, -128.0)
    }
}

#[cfg(test)]
mod tests {
    use super::of_range;

    #[test]
    fn eight_bits_reach_over_the_weights_and_zero() {
        let sixteenth = f64::from((4.0_f64 / 255.0) as f32);
        assert_eq!(of_range(&[-1.0, 3.0]), (sixteenth, -64.0));
        assert_eq!(of_range(&[1.0, 2.0]), (f64::from((2.0_f64 / 255.0) as f32), -128.0));
        assert_eq!(of_range(&[-2.0, -1.0]), (f64::from((2.0_f64 / 255.0) as f32), 127.0));
        assert_eq!(of_range(&[0.0]), (1.0, -128.0));
    }
}
