use std::borrow::Cow;

use twinfer_onnx::{Axis, Conv, ConvTranspose, Geometry, Graph, Node, Op};

use super::{Evaluator, broken};
use crate::{
    Algorithms, Entry, Unknown,
    convolution::{Connectivity, Convolution, WeightLayout},
    elementwise::add,
    integer_operand::Integers,
    quantization::{dequantize, lowest_int32_beyond, quantize},
    rounding::rounding_to,
    rules,
    semantics::Bias,
    taps::{Direction, Fill, Reach, Taps},
    transformed::Transformed,
    value::Value,
};

/// What a convolution computes its data with.
pub(super) struct Operands<'a> {
    pub w: &'a Value,
    /// The integers behind the weights.
    pub integers: Option<Integers<'a>>,
    pub bias: Option<&'a Value>,
}

impl Evaluator<'_> {
    pub(super) fn conv(&mut self, op: &Conv, node: &Node) -> Result<Value, Unknown> {
        let (x, w) = (self.input(node, 0), self.input(node, 1));
        let geometry = op.geometry(&x.shape[2..], &w.shape[2..]).map_err(|fault| broken(node, fault))?;
        self.touch(rules::of_conv(op, &geometry));
        self.touch(rules::of_old_same(self.graph.opset, op.auto_pad, &geometry));
        self.convolve(node, &geometry, Direction::Gather)
    }

    pub(super) fn conv_transpose(&mut self, op: &ConvTranspose, node: &Node) -> Result<Value, Unknown> {
        let (x, w) = (self.input(node, 0), self.input(node, 1));
        // shape inference has found whether the rules hold
        let geometry = op.misread_geometry(&x.shape[2..], &w.shape[2..]);
        let geometry = geometry.map_err(|fault| broken(node, fault))?;
        self.touch(rules::of_conv_transpose(op, &geometry));
        self.touch(rules::of_old_same(self.graph.opset, op.auto_pad, &geometry));
        self.convolve(node, &geometry, Direction::Scatter)
    }

    fn convolve(&mut self, node: &Node, geometry: &Geometry, direction: Direction) -> Result<Value, Unknown> {
        self.afford(node, 1, &self.shape(node), geometry)?;
        let (w, integers) = self.weights(node);
        let (bias, late_bias) = self.biases(node);
        let operands = Operands { w: &w, integers, bias: bias.as_deref() };
        let (sum, touched) = self.convolved(node, geometry, direction, &operands);
        let result = match late_bias {
            Some((quantizer, bias)) => self.requantized(&sum, quantizer, bias),
            None => Ok(sum),
        };
        self.open(touched);
        result
    }

    /// The result of a convolution with other weights and another bias than those of `node`, and the rules that leave elements of it open.
    pub(super) fn convolved(
        &self,
        node: &Node,
        geometry: &Geometry,
        direction: Direction,
        operands: &Operands<'_>,
    ) -> (Value, Vec<&'static Entry>) {
        let (x, shape) = (self.input(node, 0), self.shape(node));
        let convolution = Convolution {
            x: &self.operand(x),
            w: &self.operand(operands.w),
            bias: operands.bias,
            channels: self.channels(geometry, x, &shape, direction),
            taps: &self.taps(geometry, direction),
            bare: self.semantics.bare,
            arithmetic: self.arithmetic,
            transformed: self.transformed(geometry),
            accumulator: self.semantics.sums,
            pairs: self.pairs(node, operands.integers.as_ref()),
            fill: self.semantics.fill.map_or(0.0, Fill::number),
            partial: self.semantics.partial_sums,
        };
        convolution.evaluate(shape)
    }

    /// Subtracts the cost of a convolution from the limits; `weight` is the index of its weight among the inputs of
    /// the node.
    pub(super) fn afford(
        &mut self,
        node: &Node,
        weight: usize,
        output: &[usize],
        geometry: &Geometry,
    ) -> Result<(), Unknown> {
        let channels = self.input(node, 0).shape[1] / geometry.group;
        let kernel: Vec<_> = self.input(node, weight).shape[2..].to_vec();
        self.limits.convolve(node, output, &kernel, channels)
    }

    pub(super) fn channels(
        &self,
        geometry: &Geometry,
        x: &Value,
        output: &[usize],
        direction: Direction,
    ) -> Connectivity {
        let groups = geometry.group;
        let layout = match direction {
            Direction::Gather => WeightLayout::OutputFirst,
            Direction::Scatter => WeightLayout::InputFirst,
        };
        Connectivity {
            groups,
            inputs: x.shape[1] / groups,
            outputs: output[1] / groups,
            layout: layout.read(self.semantics.weights),
            order: self.semantics.groups,
        }
    }

    pub(super) fn taps(&self, geometry: &Geometry, direction: Direction) -> Taps {
        Taps::of(&self.reaches(&geometry.axes, direction), direction)
    }

    /// The algorithms that may transform the operands of a convolution.
    fn transformed(&self, geometry: &Geometry) -> Option<Transformed> {
        match self.arithmetic.algorithms {
            Algorithms::Direct => None,
            Algorithms::DirectConvolutions | Algorithms::Any => {
                Transformed::of(&geometry.axes.iter().map(Reach::from).collect::<Vec<_>>())
            }
        }
    }

    /// An operand of a convolution, rounded if a mutant rounds it.
    fn operand<'b>(&self, operand: &'b Value) -> Cow<'b, Value> {
        match self.semantics.operands {
            None => Cow::Borrowed(operand),
            Some(round) => Cow::Owned(operand.changed(round)),
        }
    }

    fn reaches(&self, axes: &[Axis], direction: Direction) -> Vec<Reach> {
        let reach = |axis| {
            let mut reach = Reach::from(axis);
            (reach.outside, reach.between) = (self.semantics.outside, self.semantics.between);
            self.semantics.reach.iter().for_each(|change| change(&mut reach, axis, direction));
            reach
        };
        let mut reaches: Vec<_> = axes.iter().map(reach).collect();
        if let Some(numbers) = self.semantics.numbers {
            numbers.apply(&mut reaches);
        }
        reaches
    }

    /// The bias that the sum starts with, and the bias that a mutant adds after the quantizer of the result.
    fn biases(&self, node: &Node) -> (Option<Cow<'_, Value>>, Option<LateBias<'_>>) {
        let Some(bias) = self.optional_input(node, 2) else {
            return (None, None);
        };
        match self.semantics.bias {
            Bias::Everywhere => (Some(Cow::Borrowed(bias)), None),
            Bias::Dropped => (None, None),
            Bias::InProductSteps => (Some(self.in_product_steps(node, bias)), None),
            Bias::AfterRequantization => match self.requantizer(node) {
                Some(quantizer) => (None, Some((quantizer, bias))),
                None => (Some(Cow::Borrowed(bias)), None),
            },
        }
    }

    /// The bias rounded to whole products of the operands' scales, if both operands are dequantized, the data with one scale, and the weights with
    /// one or with one per output channel. Computed in the type of the bias, as backends do, because quotients lie close to ties; a 32-bit integer
    /// counts the steps.
    fn in_product_steps<'b>(&self, node: &Node, bias: &'b Value) -> Cow<'b, Value> {
        let (Some(x), (_, Some(w))) = (self.scale_behind(&node.inputs[0]), self.weights(node)) else {
            return Cow::Borrowed(bias);
        };
        if x.elements.len() != 1 || ![1, bias.elements.len()].contains(&w.scale.elements.len()) {
            return Cow::Borrowed(bias);
        }
        let rounded = rounding_to(bias.dtype);
        let mut weight_scales = w.scale.elements.iter().cycle();
        Cow::Owned(bias.map(|bias| {
            let step = rounded(x.elements[0] * weight_scales.next().copied().unwrap_or(1.0));
            let steps = lowest_int32_beyond(rounded(bias / step).round_ties_even());
            rounded(f64::from(steps) * step)
        }))
    }

    /// The QuantizeLinear with one scale that takes the result of `node`, perhaps behind a Relu.
    pub(super) fn requantizer(&self, node: &Node) -> Option<&Node> {
        let mut next = only_reader(self.graph, &node.outputs[0])?;
        if matches!(next.op, Op::Relu) {
            next = only_reader(self.graph, &next.outputs[0])?;
        }
        let scale = self.values.get(next.inputs.get(1)?.as_str())?;
        (matches!(next.op, Op::QuantizeLinear(_)) && scale.elements.len() == 1).then_some(next)
    }

    /// Whether a QuantizeLinear alone reads the result of `node`, perhaps behind Relu and Clip.
    pub(super) fn leads_to_quantizer(&self, node: &Node) -> bool {
        let mut reader = only_reader(self.graph, &node.outputs[0]);
        while let Some(activation) = reader.filter(|reader| matches!(reader.op, Op::Relu | Op::Clip)) {
            reader = only_reader(self.graph, &activation.outputs[0]);
        }
        reader.is_some_and(|reader| matches!(reader.op, Op::QuantizeLinear(_)))
    }

    /// The sum quantized by `quantizer` and dequantized, and then the bias, rounded to the same steps.
    fn requantized(&self, sum: &Value, quantizer: &Node, bias: &Value) -> Result<Value, Unknown> {
        let parameters = self.quantization(None, &sum.shape, quantizer)?;
        let (quantized, _) = quantize(sum, &parameters, self.output_type(quantizer));
        let (sum, _, _) = dequantize(&quantized, &parameters, self.arithmetic);
        let step = parameters.scale.elements[0];
        let mut bias = bias.map(|bias| (bias / step).round_ties_even() * step);
        bias.shape.extend(std::iter::repeat_n(1, sum.shape.len() - 2));
        Ok(add(&sum, &bias, sum.shape.clone(), self.arithmetic).0)
    }
}

fn only_reader<'g>(graph: &'g Graph, name: &str) -> Option<&'g Node> {
    let mut readers = graph.readers(name);
    readers.next().filter(|_| readers.next().is_none())
}

/// The quantizer behind a convolution, and the bias that is added behind that.
type LateBias<'a> = (&'a Node, &'a Value);
