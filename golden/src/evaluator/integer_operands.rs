//! The integers that an integer kernel multiplies; only mutants ask for them.

use std::borrow::Cow;

use twinfer_onnx::{DataType, Node, Op, resolve_axis};

use super::Evaluator;
use crate::{
    integer_operand::Integers,
    integer_pairs::IntegerPairs,
    quantization::{dequantize, spanning},
    semantics::{Accumulator, FloatWeights, Origin},
    value::Value,
};

impl Evaluator<'_> {
    /// The weights of a convolution, and the integers behind them where they have any.
    pub(super) fn weights(&self, node: &Node) -> (Cow<'_, Value>, Option<Integers<'_>>) {
        let stated = self.input(node, 1);
        if let Some(integers) = self.integers_behind(&node.inputs[1]) {
            return (Cow::Borrowed(stated), Some(integers));
        }
        match self.quantized_weights(node) {
            Some(integers) => {
                let (dequantized, _, _) =
                    dequantize(&integers.value, &integers.parameters(), self.arithmetic);
                (Cow::Owned(dequantized), Some(integers))
            }
            None => (Cow::Borrowed(stated), None),
        }
    }

    /// Pairs of products that saturate; `None` unless a mutant asks for them and an integer kernel would use them.
    pub(super) fn pairs(&self, node: &Node, weights: Option<&Integers<'_>>) -> Option<IntegerPairs> {
        if self.semantics.sums != Accumulator::SaturatingPairs || !matches!(node.op, Op::Conv(_)) {
            return None;
        }
        self.requantizer(node)?;
        IntegerPairs::of(&self.integers_behind(&node.inputs[0])?, weights?)
    }

    /// The input of the DequantizeLinear whose output is `name`.
    pub(super) fn integers_behind(&self, name: &str) -> Option<Integers<'_>> {
        let dequantizer = self.producer(name)?;
        let Op::DequantizeLinear(op) = &dequantizer.op else { return None };
        let rank = self.input(dequantizer, 0).shape.len();
        let axis = resolve_axis(op.axis.unwrap_or(1), rank.max(2)).unwrap_or(0);
        let value = |place: usize| self.optional_input(dequantizer, place).map(Cow::Borrowed);
        Some(Integers { value: value(0)?, scale: value(1)?, zero_point: value(2), axis })
    }

    /// Constant weights that the graph does not quantize but a mutant does.
    fn quantized_weights(&self, node: &Node) -> Option<Integers<'static>> {
        let is_constant = |name: &String| self.origins.get(name.as_str()) == Some(&Origin::Constant);
        // backends compute beforehand what depends on no input; a bias that is not constant keeps them from quantizing the weights, too
        let is_meant = self.semantics.float_weights == FloatWeights::Quantized
            && is_constant(&node.inputs[1])
            && node.inputs.get(2).is_none_or(|bias| bias.is_empty() || is_constant(bias));
        let weights = Some(self.input(node, 1)).filter(|w| is_meant && w.dtype == DataType::Float)?;
        let has_one_scale = self.scale_behind(&node.inputs[0])?.elements.len() == 1;
        if !has_one_scale || !self.leads_to_quantizer(node) {
            return None;
        }
        let Range { scale, zero_point } = Range::of(&weights.elements);
        let given = |dtype, x| self.scalar(dtype, x).map(Cow::Owned);
        let integers = weights.elements.iter().map(|x| Range { scale, zero_point }.integer(*x)).collect();
        let exact = vec![0.0; weights.elements.len()];
        Some(Integers {
            value: Cow::Owned(Value::quantized(DataType::Int8, weights.shape.clone(), integers, exact)),
            scale: given(DataType::Float, scale)?,
            zero_point: given(DataType::Int8, zero_point),
            axis: 0,
        })
    }
}

/// The int8 quantization whose range contains some numbers and zero. Computed in 32-bit floats as backends do, because the ends
/// of the range lie close to rounding ties.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    scale: f32,
    zero_point: f32,
}

impl Range {
    const INT8: (f32, f32) = (i8::MIN as f32, i8::MAX as f32);

    fn of(elements: &[f64]) -> Self {
        let ends = |(least, largest): (f32, f32), x: &f64| (least.min(*x as f32), largest.max(*x as f32));
        let (least, largest) = elements.iter().fold((0.0, 0.0), ends);
        let (lowest, highest) = Self::INT8;
        let (scale, zero_point) = spanning((least, largest), Self::INT8);
        if scale > 0.0 {
            Self { scale, zero_point: zero_point.round_ties_even().clamp(lowest, highest) }
        } else {
            Self { scale: 1.0, zero_point: lowest }
        }
    }

    fn integer(self, element: f64) -> f64 {
        let (lowest, highest) = Self::INT8;
        let integer = (element as f32 / self.scale).round_ties_even() + self.zero_point;
        f64::from(integer.clamp(lowest, highest))
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    fn quantized(elements: &[f64]) -> (f32, Vec<f64>) {
        let range = Range::of(elements);
        (range.zero_point, elements.iter().map(|x| range.integer(*x)).collect())
    }

    #[test]
    fn eight_bits_reach_over_the_weights_and_zero() {
        assert_eq!(quantized(&[-1.0, 3.0]), (-64.0, vec![-128.0, 127.0]));
        assert_eq!(quantized(&[1.0, 2.0]), (-128.0, vec![-1.0, 127.0]));
        assert_eq!(quantized(&[-1.0, -2.0]), (127.0, vec![0.0, -128.0]));
        assert_eq!(quantized(&[-3.0, 3.0]), (0.0, vec![-128.0, 127.0]));
        assert_eq!(quantized(&[0.0]), (-128.0, vec![-128.0]));
    }
}
