//! Quantized operands: values on a grid finer than the scale, with ties, and scales that are powers of two spread
//! over two decades, so that what a Q/DQ pair does is known exactly and shows where it is left out or misplaced.

use twinfer_case::Case;
use twinfer_onnx::{Conv, ConvTranspose, DataType, Tensor, TensorData};

use crate::sketch::{Sketch, Value, floats, tensor};

/// The scale of activations.
pub const ACTIVATION_SCALE: f32 = 0.125;

/// How an activation is quantized.
#[derive(Clone, Copy)]
pub enum Activation {
    Int8,
    Uint8 {
        zero_point: u8,
    },
    /// ONNX takes uint8 then.
    NoZeroPoint,
    /// A scale a channel.
    Int8PerChannel {
        channels: usize,
    },
}

/// What weights are stored as.
#[derive(Clone, Copy)]
pub enum Stored {
    /// Floats, through QuantizeLinear and DequantizeLinear.
    Float,
    /// Integers, through DequantizeLinear.
    Int8,
}

/// What bias there is.
#[derive(Clone, Copy)]
pub enum Bias {
    None,
    Float,
    /// Integers through DequantizeLinear, in steps of the activation's scale times the weights' scales.
    Int32,
    /// A constant that arrives through an operator.
    Computed,
}

/// Multiples of a quarter of the activation's scale, some beyond what int8 holds.
pub fn activations(shape: &[usize]) -> Tensor {
    let count = shape.iter().product();
    let step = ACTIVATION_SCALE / 4.0;
    floats(
        shape,
        (0..count).map(|index: usize| ((index * 229 + index / 7) % 1201) as f32 * step - 600.0 * step),
    )
}

impl Sketch {
    /// Q and DQ of an activation.
    pub fn qdq(&mut self, x: &Value, activation: Activation) -> Value {
        self.qdq_scaled(x, activation, ACTIVATION_SCALE)
    }

    /// Q and DQ of an activation with a scale of its own.
    pub fn qdq_scaled(&mut self, x: &Value, activation: Activation, scale: f32) -> Value {
        let (scale, zero_point, axis) = match activation {
            Activation::Int8 => (floats(&[], [scale]), Some(tensor(&[], TensorData::Int8(vec![0]))), None),
            Activation::Uint8 { zero_point } => {
                (floats(&[], [scale]), Some(tensor(&[], TensorData::Uint8(vec![zero_point]))), None)
            }
            Activation::NoZeroPoint => (floats(&[], [scale]), None, None),
            Activation::Int8PerChannel { channels } => (
                floats(&[channels], (0..channels).map(|channel| scale * [1.0, 4.0, 0.5][channel % 3])),
                Some(tensor(&[channels], TensorData::Int8(vec![0; channels]))),
                Some(1),
            ),
        };
        let scale = self.constant(scale);
        let zero_point = zero_point.map(|zero_point| self.constant(zero_point));
        let quantized = self.quantize(x, &scale, zero_point.as_ref(), axis);
        self.dequantize(&quantized, &scale, zero_point.as_ref(), axis)
    }

    /// Weights with a scale for each place along `axis`, as an operator gets them.
    pub fn quantized_weights(&mut self, shape: &[usize], axis: usize, stored: Stored) -> Value {
        let scales: Vec<f32> = (0..shape[axis]).map(weight_scale).collect();
        self.weights_scaled(shape, axis, stored, &scales)
    }

    /// Weights with these scales along `axis`.
    pub fn weights_scaled(&mut self, shape: &[usize], axis: usize, stored: Stored, scales: &[f32]) -> Value {
        let steps = weight_steps(shape);
        let scale = self.constant(floats(&[scales.len()], scales.iter().copied()));
        let zero_point = self.constant(tensor(&[scales.len()], TensorData::Int8(vec![0; scales.len()])));
        let axis_attribute = Some(axis as i64);
        let quantized = match stored {
            Stored::Int8 => {
                let rounded = steps.iter().map(|step| step.round_ties_even() as i8).collect();
                self.constant(tensor(shape, TensorData::Int8(rounded)))
            }
            Stored::Float => {
                let behind: usize = shape[axis + 1..].iter().product();
                let scale_at = |index: usize| scales[index / behind % shape[axis]];
                let values = steps.iter().enumerate().map(|(index, step)| step * scale_at(index));
                let weights = self.constant(floats(shape, values));
                self.quantize(&weights, &scale, Some(&zero_point), axis_attribute)
            }
        };
        self.dequantize(&quantized, &scale, Some(&zero_point), axis_attribute)
    }

    /// A bias of a value a channel, none of it small.
    pub fn bias(&mut self, channels: usize, bias: Bias) -> Option<Value> {
        let values = (0..channels).map(|channel| 8.0 * (channel as f32 + 1.0) * [1.0, -1.0][channel % 2]);
        match bias {
            Bias::None => None,
            Bias::Float => Some(self.constant(floats(&[channels], values))),
            Bias::Computed => {
                let constant = self.constant(floats(&[channels], values));
                Some(self.identity(&constant))
            }
            Bias::Int32 => {
                let integers =
                    (0..channels as i32).map(|channel| (channel + 1) * [900, -700][channel as usize % 2]);
                let integers = self.constant(tensor(&[channels], TensorData::Int32(integers.collect())));
                let scales = (0..channels).map(|channel| ACTIVATION_SCALE * weight_scale(channel));
                let scale = self.constant(floats(&[channels], scales));
                let zero_point = self.constant(tensor(&[channels], TensorData::Int32(vec![0; channels])));
                Some(self.dequantize(&integers, &scale, Some(&zero_point), Some(0)))
            }
        }
    }
}

/// Scales of neighbors differ, by up to 64.
fn weight_scale(place: usize) -> f32 {
    [0.25, 0.015_625, 0.125, 0.003_906_25, 0.0625, 0.031_25, 0.007_812_5][place % 7]
}

/// Weights in quarters of a step.
fn weight_steps(shape: &[usize]) -> Vec<f32> {
    let count = shape.iter().product();
    (0..count).map(|index: usize| ((index * 23 + index / 3) % 81) as f32 / 4.0 - 10.0).collect()
}

/// A quantized convolution or deconvolution and nothing else.
#[derive(Clone)]
pub struct Quantized<'a> {
    pub opset: i64,
    pub input: &'a [usize],
    pub weights: &'a [usize],
    /// The axis of the weights' scales.
    pub axis: usize,
    pub activation: Activation,
    pub stored: Stored,
    pub bias: Bias,
    /// Whether Q and DQ follow the operator.
    pub output_qdq: bool,
}

impl Quantized<'_> {
    /// int8, weights as floats with scales along axis 0, no bias, a float output.
    pub const fn plain<'a>(input: &'a [usize], weights: &'a [usize]) -> Quantized<'a> {
        Quantized {
            opset: 13,
            input,
            weights,
            axis: 0,
            activation: Activation::Int8,
            stored: Stored::Float,
            bias: Bias::None,
            output_qdq: false,
        }
    }

    pub fn conv(&self, op: Conv) -> Case {
        self.case(self.weights[0], |sketch, kernel, inputs| sketch.conv(kernel, op, inputs))
    }

    pub fn deconv(&self, op: ConvTranspose) -> Case {
        let group = op.group.unwrap_or(1) as usize;
        self.case(self.weights[1] * group, |sketch, kernel, inputs| sketch.deconv(kernel, op, inputs))
    }

    fn case(&self, channels: usize, operator: impl FnOnce(&mut Sketch, &[i64], &[&Value]) -> Value) -> Case {
        let mut sketch = Sketch::new(self.opset);
        let x = sketch.input(DataType::Float, &crate::sketch::fixed(self.input));
        let data = sketch.qdq(&x, self.activation);
        let weights = sketch.quantized_weights(self.weights, self.axis, self.stored);
        let bias = sketch.bias(channels, self.bias);
        let kernel = kernel_of(self.weights);
        let inputs: Vec<_> = [&data, &weights].into_iter().chain(&bias).collect();
        let mut y = operator(&mut sketch, &kernel, &inputs);
        if self.output_qdq {
            y = sketch.qdq_scaled(&y, Activation::Int8, OUTPUT_SCALE);
        }
        sketch.case(&[&y], vec![vec![activations(self.input)]])
    }
}

/// The scale of a quantized output.
pub const OUTPUT_SCALE: f32 = 4.0;

/// The spatial extents of a weight.
pub fn kernel_of(weights: &[usize]) -> Vec<i64> {
    weights[2..].iter().map(|extent| *extent as i64).collect()
}
