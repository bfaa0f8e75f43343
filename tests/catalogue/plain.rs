//! One convolution or deconvolution in 32-bit floats, and nothing else.

use twinfer_case::Case;
use twinfer_onnx::{Conv, ConvTranspose, DataType, Dim};

use crate::{
    quantized::{Bias, kernel_of},
    sketch::{Sketch, fixed, integers},
};

/// What a plain case is made of.
#[derive(Clone)]
pub struct Plain<'a> {
    pub opset: i64,
    /// Extents of the input, a set for each run.
    pub runs: &'a [&'a [usize]],
    /// What the model declares of them.
    pub declared: Vec<Dim>,
    pub weights: &'a [usize],
    pub bias: Bias,
}

impl Plain<'_> {
    /// One run of fixed extents, without a bias.
    pub fn of<'a>(runs: &'a [&'a [usize]], weights: &'a [usize]) -> Plain<'a> {
        Plain { opset: 17, runs, declared: fixed(runs[0]), weights, bias: Bias::None }
    }

    pub fn conv(self, op: Conv) -> Case {
        let (mut sketch, inputs) = self.operands(self.weights[0]);
        let inputs: Vec<_> = inputs.iter().collect();
        let y = sketch.conv(&kernel_of(self.weights), op, &inputs);
        sketch.case(&[&y], self.data())
    }

    pub fn deconv(self, op: ConvTranspose) -> Case {
        let group = op.group.unwrap_or(1) as usize;
        let (mut sketch, inputs) = self.operands(self.weights[1] * group);
        let inputs: Vec<_> = inputs.iter().collect();
        let y = sketch.deconv(&kernel_of(self.weights), op, &inputs);
        sketch.case(&[&y], self.data())
    }

    fn operands(&self, channels: usize) -> (Sketch, Vec<crate::sketch::Value>) {
        let mut sketch = Sketch::new(self.opset);
        let x = sketch.input(DataType::Float, &self.declared);
        let weights = sketch.constant(integers(self.weights, 1));
        let bias = sketch.bias(channels, self.bias);
        (sketch, [x, weights].into_iter().chain(bias).collect())
    }

    fn data(&self) -> Vec<Vec<twinfer_onnx::Tensor>> {
        self.runs.iter().enumerate().map(|(run, shape)| vec![integers(shape, run)]).collect()
    }
}
