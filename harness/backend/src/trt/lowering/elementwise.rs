use nvinfer::{ActivationType, ElementWiseOperation, ScaleMode, Tensor as Value};
use twinfer_onnx::{BatchNormalization, Concat, Node, Tensor, resolve_axis};

use super::{Lowering, LoweringError, constants::Elements, no_layer};

/// ONNX's default for the attribute `epsilon` of BatchNormalization.
const DEFAULT_EPSILON: f32 = 1e-5;

impl<'n, 'g> Lowering<'n, 'g> {
    pub fn relu(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let x = self.input(node, 0)?;
        Ok(self.network.add_activation(x, ActivationType::Relu)?.output(0)?)
    }

    pub fn identity(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let x = self.input(node, 0)?;
        Ok(self.network.add_identity(x)?.output(0)?)
    }

    pub fn add(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let rank = self.shape(node, 0).len().max(self.shape(node, 1).len());
        let [left, right] = [0, 1].map(|index| self.widened(node, index, rank));
        self.sum(left?, right?)
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
