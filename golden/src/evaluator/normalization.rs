use twinfer_onnx::{BatchNormalization, ConvTranspose, Node, Op};

use super::{Evaluator, broken, convolutions::Operands};
use crate::{
    Unknown,
    batch_normalization::{Parameters, batch_normalization},
    elementwise::add,
    semantics::{Origin, Surroundings},
    taps::Direction,
    value::Value,
};

impl<'a> Evaluator<'a> {
    pub(super) fn batch_normalization(
        &mut self,
        op: &BatchNormalization,
        node: &Node,
    ) -> Result<Value, Unknown> {
        if self.semantics.surroundings == Surroundings::NormalizedByInterleavedGroup
            && let Some((deconvolution, deconvolving)) = self.deconvolution_of_float_weights(node)
        {
            return self.folded_as_interleaved(op, node, deconvolution, deconvolving);
        }
        let parameters = self.parameters(op, node);
        let (normalized, touched) = batch_normalization(self.input(node, 0), &parameters, self.arithmetic);
        self.open(touched);
        Ok(normalized)
    }

    fn parameters(&self, op: &BatchNormalization, node: &Node) -> Parameters<'_> {
        /// The default of ONNX.
        const EPSILON: f32 = 1e-5;
        Parameters {
            scale: self.input(node, 1),
            bias: self.input(node, 2),
            mean: self.input(node, 3),
            variance: self.input(node, 4),
            epsilon: match self.semantics.surroundings {
                Surroundings::EpsilonIgnored => 0.0,
                _ => f64::from(op.epsilon.unwrap_or(EPSILON)),
            },
        }
    }

    /// The ConvTranspose in front of `node`; `None` if there is none, or its weights are quantized or not constant.
    fn deconvolution_of_float_weights(&self, node: &Node) -> Option<(&'a ConvTranspose, &'a Node)> {
        let producer = self.producer(&node.inputs[0])?;
        let Op::ConvTranspose(op) = &producer.op else { return None };
        let weights = producer.inputs[1].as_str();
        let is_constant = self.origins.get(weights) == Some(&Origin::Constant);
        (is_constant && self.scale_behind(weights).is_none()).then_some((op, producer))
    }

    /// The BatchNormalization `node` as TensorRT 8.6.0 folds it into the ConvTranspose in front of it: the weights, of the shape
    /// `[Cin, Cout / group, ...]`, are scaled as if they had the shape `[Cin / group, Cout, ...]`. The bias is right.
    fn folded_as_interleaved(
        &mut self,
        op: &BatchNormalization,
        node: &Node,
        deconvolution: &ConvTranspose,
        deconvolving: &Node,
    ) -> Result<Value, Unknown> {
        let (x, w) = (self.input(deconvolving, 0), self.input(deconvolving, 1));
        let geometry = deconvolution
            .misread_geometry(&x.shape[2..], &w.shape[2..])
            .map_err(|fault| broken(deconvolving, fault))?;
        let shape = self.shape(deconvolving);
        self.afford(deconvolving, 1, &shape, &geometry)?;
        let w = self.input(deconvolving, 1);
        let outputs = shape[1];
        let parameters = self.parameters(op, node);
        let zeros = parameters.bias.zeros();
        let scaling = Parameters { bias: &zeros, mean: &zeros, ..parameters };
        let read = [w.shape[0] / geometry.group, outputs].into_iter().chain(w.shape[2..].iter().copied());
        let (scaled, of_weights) =
            batch_normalization(&w.reshaped(read.collect()), &scaling, self.arithmetic);
        let scaled = scaled.reshaped(w.shape.clone());
        let bias = self.optional_input(deconvolving, 2).unwrap_or(&zeros);
        let of_channels = [1, outputs].into_iter().chain(shape[2..].iter().map(|_| 1)).collect();
        let (bias, of_bias) = batch_normalization(&bias.reshaped(of_channels), &parameters, self.arithmetic);
        let operands = Operands { w: &scaled, integers: None, bias: None };
        let (sum, touched) = self.convolved(deconvolving, &geometry, Direction::Scatter, &operands);
        let (normalized, of_sum) = add(&sum, &bias, shape, self.arithmetic);
        self.open([of_weights, of_bias, touched, of_sum].concat());
        Ok(normalized)
    }
}
