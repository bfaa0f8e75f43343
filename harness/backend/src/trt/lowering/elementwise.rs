use nvinfer::{ActivationType, ElementWiseOperation, ScaleMode, Tensor as Value};
use twinfer_onnx::{BatchNormalization, Concat, LeakyRelu, Node, Tensor, Transpose, resolve_axis};

use super::{Lowering, LoweringError, constants::Elements, no_layer};

/// ONNX's default for the attribute `epsilon` of BatchNormalization.
const DEFAULT_EPSILON: f32 = 1e-5;

/// ONNX's default for the attribute `alpha` of LeakyRelu.
const DEFAULT_ALPHA: f32 = 0.01;

impl<'n, 'g> Lowering<'n, 'g> {
    /// An activation with the parameters that TensorRT calls α and β, if it has any.
    pub fn activation(
        &mut self,
        node: &'g Node,
        kind: ActivationType,
        parameters: Option<(f32, f32)>,
    ) -> Result<Value<'n>, LoweringError> {
        let x = self.input(node, 0)?;
        let layer = self.network.add_activation(x, kind)?;
        if let Some((alpha, beta)) = parameters {
            layer.set_parameters(alpha, beta)?;
        }
        Ok(layer.output(0)?)
    }

    pub fn leaky_relu(&mut self, node: &'g Node, op: &LeakyRelu) -> Result<Value<'n>, LoweringError> {
        let alpha = op.alpha.unwrap_or(DEFAULT_ALPHA);
        self.activation(node, ActivationType::LeakyRelu, Some((alpha, 0.0)))
    }

    /// `x · max(0, min(1, x / 6 + 0.5))`.
    pub fn hard_swish(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let x = self.input(node, 0)?;
        let gate = self.activation(node, ActivationType::HardSigmoid, Some((1.0 / 6.0, 0.5)))?;
        Ok(self.network.add_element_wise(x, gate, ElementWiseOperation::Prod)?.output(0)?)
    }

    /// A bound that is absent is one that no number exceeds.
    pub fn clip(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let bound = |index: usize, default: f32| match node.input(index) {
            None => Ok(default),
            Some(_) => self
                .known(node, index)
                .and_then(|bound| bound.to_f64().first().map(|bound| *bound as f32))
                .ok_or_else(|| no_layer(node, "its bounds are not initializers".to_owned())),
        };
        let bounds = (bound(1, f32::MIN)?, bound(2, f32::MAX)?);
        self.activation(node, ActivationType::Clip, Some(bounds))
    }

    pub fn transposition(&mut self, node: &'g Node, op: &Transpose) -> Result<Value<'n>, LoweringError> {
        let rank = self.shape(node, 0).len();
        let order = op.order(rank).map_err(|broken| no_layer(node, format!("{broken:?}")))?;
        let order: Vec<u8> = order.into_iter().map(|axis| axis as u8).collect();
        let x = self.input(node, 0)?;
        self.transpose(x, &order)
    }

    pub fn identity(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let x = self.input(node, 0)?;
        Ok(self.network.add_identity(x)?.output(0)?)
    }

    /// An operation of two inputs that broadcast.
    pub fn element_wise(
        &mut self,
        node: &'g Node,
        operation: ElementWiseOperation,
    ) -> Result<Value<'n>, LoweringError> {
        let rank = self.shape(node, 0).len().max(self.shape(node, 1).len());
        let [left, right] = [0, 1].map(|index| self.widened(node, index, rank));
        Ok(self.network.add_element_wise(left?, right?, operation)?.output(0)?)
    }

    pub fn sum(&self, left: Value<'n>, right: Value<'n>) -> Result<Value<'n>, LoweringError> {
        Ok(self.network.add_element_wise(left, right, ElementWiseOperation::Sum)?.output(0)?)
    }

    /// An input with extents of 1 in front, so that it has `rank`.
    fn widened(&mut self, node: &'g Node, index: usize, rank: usize) -> Result<Value<'n>, LoweringError> {
        let value = self.input(node, index)?;
        let shape = self.shape(node, index);
        if shape.len() == rank {
            return Ok(value);
        }
        let ones = std::iter::repeat_n(1, rank - shape.len());
        let extents: Vec<i64> = ones.chain(shape.iter().map(|&extent| extent as i64)).collect();
        self.reshape(value, &extents)
    }

    pub fn concat(&mut self, node: &'g Node, op: &Concat) -> Result<Value<'n>, LoweringError> {
        let values =
            (0..node.inputs.len()).map(|index| self.input(node, index)).collect::<Result<Vec<_>, _>>()?;
        let axis = resolve_axis(op.axis, self.shape(node, 0).len())
            .map_err(|_| no_layer(node, format!("axis {} is out of range", op.axis)))?;
        let layer = self.network.add_concatenation(&values)?;
        layer.set_axis(axis as u8)?;
        Ok(layer.output(0)?)
    }

    /// `x · scale + shift` a channel, folded in double precision.
    pub fn batch_normalization(
        &mut self,
        node: &'g Node,
        op: &BatchNormalization,
    ) -> Result<Value<'n>, LoweringError> {
        let x = self.planar(node)?;
        let known = |index| {
            self.known(node, index)
                .ok_or_else(|| no_layer(node, "its coefficients are not initializers".to_owned()))
        };
        let (gamma, beta, mean, variance) = (known(1)?, known(2)?, known(3)?, known(4)?);
        let epsilon = f64::from(op.epsilon.unwrap_or(DEFAULT_EPSILON));
        let scale: Vec<f64> = gamma
            .to_f64()
            .iter()
            .zip(variance.to_f64())
            .map(|(gamma, variance)| gamma / (variance + epsilon).sqrt())
            .collect();
        let shift: Vec<f64> = beta
            .to_f64()
            .iter()
            .zip(mean.to_f64())
            .zip(&scale)
            .map(|((beta, mean), scale)| beta - mean * scale)
            .collect();
        let elements = |values: &[f64]| {
            Tensor::from_f64(gamma.dtype(), vec![values.len()], values)
                .map_err(|error| no_layer(node, error.to_string()))
                .and_then(|tensor| Elements::of(&tensor))
        };
        let (shift, scale) = (elements(&shift)?, elements(&scale)?);
        let power = Elements::none_like(gamma)?;
        let coefficients = [&shift.weights()?, &scale.weights()?, &power.weights()?];
        let y = self.network.add_scale(x, ScaleMode::Channel, coefficients, 1)?.output(0)?;
        self.spatial(node, y)
    }
}
