use twinfer_onnx::{Conv, Node};

use super::{Evaluator, broken};
use crate::{
    Unknown,
    convolution::Convolution,
    quantization::{Parameters, ScaleChoice, dequantize, quantize},
    rules,
    semantics::{Accumulator, Bare},
    taps::Direction,
    value::Value,
};

/// The positions of the operands of an integer convolution among the inputs of its node.
struct Places {
    x: usize,
    x_zero_point: usize,
    w: usize,
    w_zero_point: usize,
    bias: Option<usize>,
}

impl Evaluator<'_> {
    /// The sums of `(x - x_zero_point) * (w - w_zero_point)`, padding aside.
    pub(super) fn conv_integer(&mut self, op: &Conv, node: &Node) -> Result<Value, Unknown> {
        self.sums(op, node, &Places { x: 0, x_zero_point: 2, w: 1, w_zero_point: 3, bias: None })
    }

    /// The sums and the bias times `x_scale * w_scale`, quantized.
    pub(super) fn q_linear_conv(&mut self, op: &Conv, node: &Node) -> Result<Value, Unknown> {
        let places = Places { x: 0, x_zero_point: 2, w: 3, w_zero_point: 5, bias: Some(8) };
        let sums = self.sums(op, node, &places)?;
        let x_scale = self.input(node, 1).elements[0];
        let scale = self.input(node, 4).map(|w_scale| x_scale * w_scale);
        let conversion = self.semantics.conversion;
        let of_sums =
            Parameters { scale: &scale, zero_point: None, axis: 1, choice: ScaleChoice::Own, conversion };
        let (y, touched, open) = dequantize(&sums, &of_sums, self.arithmetic);
        let (scale, zero_point) = (self.input(node, 6), Some(self.input(node, 7)));
        let of_result = Parameters { scale, zero_point, axis: 1, choice: ScaleChoice::Own, conversion };
        let (y, open_too) = quantize(&y, &of_result, self.output_type(node));
        self.touch(touched);
        self.open(open.into_iter().chain(open_too));
        Ok(y)
    }

    fn sums(&mut self, op: &Conv, node: &Node, places: &Places) -> Result<Value, Unknown> {
        let (x, w) = (self.input(node, places.x), self.input(node, places.w));
        let geometry = op.geometry(&x.shape[2..], &w.shape[2..]).map_err(|fault| broken(node, fault))?;
        let shape = self.shape(node);
        self.afford(node, places.w, &shape, &geometry)?;
        let (x, w) = (self.input(node, places.x), self.input(node, places.w));
        let convolution = Convolution {
            x: &shifted(x, self.optional_input(node, places.x_zero_point)),
            w: &shifted(w, self.optional_input(node, places.w_zero_point)),
            bias: places.bias.and_then(|place| self.optional_input(node, place)),
            channels: self.channels(&geometry, x, &shape, Direction::Gather),
            taps: &self.taps(&geometry, Direction::Gather),
            bare: Bare::default(),
            arithmetic: self.arithmetic,
            transformed: None,
            accumulator: Accumulator::Known,
            fill: 0.0,
            partial: None,
            pairs: None,
        };
        let (sums, touched) = convolution.evaluate_integers(shape);
        self.touch(rules::of_conv(op, &geometry));
        self.open(touched);
        self.touch(rules::of_old_same(self.graph.opset, op.auto_pad, &geometry));
        Ok(sums)
    }
}

/// The integers minus their zero point, which is a scalar or has one value per position along axis 0.
fn shifted(integers: &Value, zero_point: Option<&Value>) -> Value {
    let Some(zero_point) = zero_point else {
        return integers.clone();
    };
    let each = integers.elements.len() / zero_point.elements.len().max(1);
    let mut place = 0..;
    integers.map(|integer| {
        let channel = place.next().unwrap_or(0) / each.max(1);
        integer - zero_point.elements[channel]
    })
}
