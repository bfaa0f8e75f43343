use std::borrow::Cow;

use twinfer_onnx::{DataType, Node, Op, Tensor, resolve_axis};

use super::{Evaluator, broken};
use crate::{
    Unknown,
    quantization::{IntegerConversion, Parameters, ScaleChoice, dequantize, quantize, unrounded},
    rules::Entry,
    semantics::{Origin, Origins, Scales, SuccessivePairs, Unsigned},
    successive_pairs::QuantizerPair,
    value::Value,
};

impl<'a> Evaluator<'a> {
    pub(super) fn quantize(&mut self, axis: Option<i64>, node: &Node) -> Result<Value, Unknown> {
        let x = self.input(node, 0);
        let mut parameters = self.quantization(axis, &x.shape, node)?;
        let is_exchanged = x.shape.len() == 3
            && parameters.scale.elements.len() > 1
            && self.holds(self.semantics.exchanged, node);
        let (value, touched) = match (self.output_type(node), self.semantics.unsigned) {
            (DataType::Uint8, Unsigned::TakenForSigned) => {
                let zero_point = parameters.zero_point.map(|zero_point| self.read(zero_point));
                parameters.zero_point = zero_point.as_deref();
                quantize(x, &parameters, DataType::Int8)
            }
            (dtype, _) => quantize(x, &parameters, dtype),
        };
        self.open(touched);
        Ok(if is_exchanged { with_axes_exchanged(&value) } else { value })
    }

    pub(super) fn dequantize(&mut self, axis: Option<i64>, node: &Node) -> Result<Value, Unknown> {
        if let Some(unquantized) = self.unquantized(node) {
            return Ok(unquantized);
        }
        if let Some((value, open)) = self.quantized_once(node) {
            self.open(open);
            return Ok(value);
        }
        let x = self.read(self.input(node, 0));
        let mut parameters = self.quantization(axis, &x.shape, node)?;
        let zero_point = parameters.zero_point.filter(|_| !self.holds(self.semantics.unshifted, node));
        let zero_point = zero_point.map(|zero_point| self.read(zero_point));
        parameters.zero_point = zero_point.as_deref();
        let (value, touched, open) = dequantize(&x, &parameters, self.arithmetic);
        self.touch(touched);
        self.open(open);
        Ok(value)
    }

    pub(super) fn output_type(&self, node: &Node) -> DataType {
        self.shapes.get(&node.outputs[0]).map_or(DataType::Uint8, |output| output.dtype)
    }

    /// Integers as they are, unless a mutant reads unsigned ones as two's complement.
    fn read<'b>(&self, integers: &'b Value) -> Cow<'b, Value> {
        if self.semantics.unsigned != Unsigned::Kept && integers.dtype == DataType::Uint8 {
            Cow::Owned(integers.map(|x| if *x >= 128.0 { x - 256.0 } else { *x }))
        } else {
            Cow::Borrowed(integers)
        }
    }

    /// Whether what `node` quantizes or dequantizes comes from one of `origins`.
    fn holds(&self, origins: Origins, node: &Node) -> bool {
        let origin = self.origins.get(node.inputs[0].as_str()).copied();
        origins.contain(origin.unwrap_or(Origin::Result))
    }

    /// The QuantizeLinear whose result `node` dequantizes.
    fn quantizer(&self, node: &Node) -> Option<&'a Node> {
        self.producer(node.inputs.first()?).filter(|node| matches!(node.op, Op::QuantizeLinear(_)))
    }

    /// The value before quantization, if a mutant skips the quantizer in front of `node` and `node` itself.
    fn unquantized(&self, node: &Node) -> Option<Value> {
        if !self.holds(self.semantics.unquantized, node) {
            return None;
        }
        let source = self.quantizer(node)?.inputs.first()?;
        let output = self.shapes.get(node.outputs.first()?)?.dtype;
        let value = self.values.get(source.as_str()).filter(|value| value.dtype == output)?;
        Some(unrounded(value, self.input(node, 1)))
    }

    /// What one pair gives in place of the two of which `node` is the last operator, if a mutant merges them, and the open points.
    fn quantized_once(&self, node: &Node) -> Option<(Value, Vec<&'static Entry>)> {
        if self.semantics.successive_pairs != SuccessivePairs::Merged {
            return None;
        }
        let (behind, second) = self.quantizer_pair(node)?;
        let (quantizer, first) = self.quantizer_pair(self.producer(behind.inputs.first()?)?)?;
        let pair = first.merged_with(second)?;
        let scale = self.scalar(DataType::Float, pair.scale)?;
        let zero_point = self.scalar(pair.dtype, pair.zero_point)?;
        let parameters = Parameters {
            scale: &scale,
            zero_point: Some(&zero_point),
            axis: 0,
            choice: ScaleChoice::Own,
            conversion: IntegerConversion::ONNX,
        };
        let (integers, mut open) = quantize(self.input(quantizer, 0), &parameters, pair.dtype);
        let (value, _, open_behind) = dequantize(&integers, &parameters, self.arithmetic);
        open.extend(open_behind);
        Some((value, open))
    }

    /// The QuantizeLinear in front of `dequantizer`, and the parameters of that pair; `None` unless both operators have the same ones, with
    /// one scale in 32-bit floats.
    fn quantizer_pair(&self, dequantizer: &Node) -> Option<(&'a Node, QuantizerPair)> {
        if !matches!(dequantizer.op, Op::DequantizeLinear(_)) {
            return None;
        }
        let quantizer = self.quantizer(dequantizer)?;
        let dtype = self.output_type(quantizer);
        let parameters = |node: &Node| {
            let scale = self.optional_input(node, 1).filter(|scale| scale.dtype == DataType::Float)?;
            QuantizerPair::of(dtype, scale, self.optional_input(node, 2))
        };
        let pair = parameters(quantizer).filter(|pair| parameters(dequantizer) == Some(*pair))?;
        Some((quantizer, pair))
    }

    /// A constant of no dimension.
    pub(super) fn scalar(&self, dtype: DataType, x: f32) -> Option<Value> {
        let tensor = Tensor::from_f64(dtype, Vec::new(), &[f64::from(x)]).ok()?;
        Some(Value::given(&tensor, self.arithmetic))
    }

    /// Scale and zero point of a quantizer or dequantizer of a value with these extents.
    pub(super) fn quantization(
        &self,
        axis: Option<i64>,
        extents: &[usize],
        node: &Node,
    ) -> Result<Parameters<'_>, Unknown> {
        let scale = self.input(node, 1);
        let axis = if scale.elements.len() == 1 {
            0
        } else {
            resolve_axis(axis.unwrap_or(1), extents.len()).map_err(|fault| broken(node, fault))?
        };
        let is_vector = extents.len() > 1 && scale.elements.len() > 1;
        let scales = if is_vector { self.semantics.scales } else { Scales::AlongAxis };
        let axis = match scales {
            Scales::Moved(axes) => axes.moved(axis),
            Scales::MovedWhenDequantized(axes) if matches!(node.op, Op::DequantizeLinear(_)) => {
                axes.moved(axis)
            }
            Scales::AlongFirstAxis => 0,
            Scales::AlongSecondAxis => 1,
            Scales::AlongLastAxis => extents.len() - 1,
            Scales::AlongPreviousAxis => axis.saturating_sub(1),
            Scales::AlongNextAxis => (axis + 1).min(extents.len() - 1),
            Scales::AlongReversedAxis => extents.len() - 1 - axis,
            _ => axis,
        };
        let zero_point = self.optional_input(node, 2).filter(|_| !self.holds(self.semantics.centered, node));
        let choice = match scales {
            Scales::First => ScaleChoice::First,
            Scales::Moved(_) | Scales::MovedWhenDequantized(_) => ScaleChoice::OwnOrFirst,
            _ => ScaleChoice::Own,
        };
        Ok(Parameters { scale, zero_point, axis, choice, conversion: self.semantics.conversion })
    }

    /// The scale that a DequantizeLinear gives to `name`.
    pub(super) fn scale_behind(&self, name: &str) -> Option<&Value> {
        let dequantizer = self.producer(name)?;
        match dequantizer.op {
            Op::DequantizeLinear(_) => self.values.get(dequantizer.inputs.get(1)?.as_str()),
            _ => None,
        }
    }

    /// An input of `node`, dequantized with the scale of the first input.
    pub(super) fn with_first_scale(&self, node: &Node, place: usize) -> Cow<'_, Value> {
        let value = self.input(node, place);
        let scale =
            |place: usize| self.scale_behind(&node.inputs[place]).filter(|scale| scale.elements.len() == 1);
        match (scale(0), scale(place)) {
            (Some(first), Some(own)) => Cow::Owned(value.scaled(first.elements[0] / own.elements[0])),
            _ => Cow::Borrowed(value),
        }
    }
}

/// A value of three dimensions read as if the first two were exchanged, in its own shape, with zeros where there is nothing to read.
fn with_axes_exchanged(value: &Value) -> Value {
    let [rows, columns, inner] = value.shape[..] else { return value.clone() };
    let place = |place: usize| {
        let (row, column) = (place / inner / columns, place / inner % columns);
        let is_inside = row < columns && column < rows;
        is_inside.then(|| (column * columns + row) * inner + place % inner)
    };
    let places: Vec<_> = (0..value.elements.len()).map(place).collect();
    value.gathered(&value.shape, &places)
}
