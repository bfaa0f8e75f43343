use twinfer_onnx::{DequantizeLinear, Op, QuantizeLinear};

use super::{Draft, value::Value};
use crate::{Quantizer, convolution::Quantization, exact::Ahead};

/// The operators that a quantization consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operators {
    QuantizeLinear,
    DequantizeLinear,
    Both,
}

impl Draft<'_> {
    pub(super) fn add_quantizer(&mut self, quantizer: Quantizer, ahead: Ahead, value: &mut Value) {
        let drawn = self.plan.parameters.quantization(quantizer, ahead, &mut value.known, self.choices);
        self.quantize(quantizer, drawn, value);
    }

    /// Quantizes and dequantizes a value by a scale and a zero point.
    pub(super) fn quantize(
        &mut self,
        quantizer: Quantizer,
        (scale, zero_point): (f64, i64),
        value: &mut Value,
    ) {
        let quantization = self.of_one_scale(quantizer, scale, zero_point);
        let rank = 2 + value.extents[0].len();
        value.name = self.add_quantization(value.name.clone(), quantization, rank, Operators::Both);
        value.scale = Some(scale);
    }

    /// Quantizes the value that the graph gives.
    pub(super) fn add_last_quantizer(&mut self, quantizer: Quantizer, ahead: Ahead, value: &mut Value) {
        let quantizer = quantizer.quantizing();
        let (scale, zero_point) =
            self.plan.parameters.quantization(quantizer, ahead, &mut value.known, self.choices);
        let quantization = self.of_one_scale(quantizer, scale, zero_point);
        let rank = 2 + value.extents[0].len();
        value.name = self.add_quantization(value.name.clone(), quantization, rank, Operators::QuantizeLinear);
        value.dtype = quantizer.dtype;
    }

    /// Dequantizes the integers that the graph is fed.
    pub(super) fn add_first_dequantizer(&mut self, quantizer: Quantizer, zero_point: i64, value: &mut Value) {
        let scale = self.plan.parameters.dequantization(&mut value.known, self.choices);
        let quantization = self.of_one_scale(quantizer, scale, zero_point);
        let rank = 2 + value.extents[0].len();
        value.name =
            self.add_quantization(value.name.clone(), quantization, rank, Operators::DequantizeLinear);
        value.dtype = self.plan.precision;
        value.scale = Some(scale);
    }

    fn of_one_scale(&self, quantizer: Quantizer, scale: f64, zero_point: i64) -> Quantization {
        Quantization {
            axis: None,
            scale: self.plan.parameters.scalar(scale),
            zero_point: quantizer.tensor(vec![], &[zero_point]),
        }
    }

    /// The result of a `QuantizeLinear` of `x`, of a `DequantizeLinear` of `x`, or of both in sequence.
    pub(super) fn add_quantization(
        &mut self,
        x: String,
        quantization: Quantization,
        rank: usize,
        operators: Operators,
    ) -> String {
        let Quantization { axis, mut scale, mut zero_point } = quantization;
        if axis.is_none() && self.choices.percent(40) {
            // one value is as good as a vector of one
            for tensor in std::iter::once(&mut scale).chain(&mut zero_point) {
                tensor.shape = vec![1];
            }
        }
        let opset = self.plan.opset;
        let quantizers = self.plan.quantizers;
        let axis = quantizers.and_then(|quantizers| quantizers.attribute(axis, rank, opset, self.choices));
        let parameters: Vec<_> = std::iter::once(("scale", scale))
            .chain(zero_point.map(|zero_point| ("zero_point", zero_point)))
            .map(|(name, tensor)| self.initializer(name, tensor))
            .collect();
        let inputs = |x| std::iter::once(x).chain(parameters.iter().cloned()).collect::<Vec<_>>();
        let integers = match operators {
            Operators::DequantizeLinear => x,
            _ => self.add_node(Op::QuantizeLinear(QuantizeLinear { axis }), inputs(x)),
        };
        match operators {
            Operators::QuantizeLinear => integers,
            _ => self.add_node(Op::DequantizeLinear(DequantizeLinear { axis }), inputs(integers)),
        }
    }
}
