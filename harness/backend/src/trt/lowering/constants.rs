use nvinfer::{Tensor as Value, Weights};
use twinfer_onnx::Tensor;

use super::{Lowering, LoweringError, data_type};

/// Elements in the form that layers take; owns the bytes.
pub struct Elements {
    data_type: nvinfer::DataType,
    bytes: Vec<u8>,
}

impl Elements {
    pub fn of(tensor: &Tensor) -> Result<Self, LoweringError> {
        Ok(Self { data_type: data_type(tensor.dtype())?, bytes: tensor.to_le_bytes() })
    }

    /// No elements, of the type that `tensor` has: TensorRT wants the types of a layer's weights to agree.
    pub fn none_like(tensor: &Tensor) -> Result<Self, LoweringError> {
        Ok(Self { data_type: data_type(tensor.dtype())?, bytes: Vec::new() })
    }

    pub fn none() -> Self {
        Self { data_type: nvinfer::DataType::Float, bytes: Vec::new() }
    }

    pub fn weights(&self) -> Result<Weights<'_>, LoweringError> {
        Ok(Weights::from_bytes(self.data_type, &self.bytes)?)
    }
}

impl<'n> Lowering<'n, '_> {
    pub fn constant(&self, tensor: &Tensor) -> Result<Value<'n>, LoweringError> {
        let shape: Vec<i64> = tensor.shape.iter().map(|&extent| extent as i64).collect();
        Ok(self.network.add_constant(&shape, &Elements::of(tensor)?.weights()?)?.output(0)?)
    }

    /// A value whose axis `i` is the axis `order[i]` of `value`.
    pub fn transpose(&self, value: Value<'n>, order: &[u8]) -> Result<Value<'n>, LoweringError> {
        let shuffle = self.network.add_shuffle(value)?;
        shuffle.set_first_transpose(order)?;
        Ok(shuffle.output(0)?)
    }

    /// A value in another shape; 0 copies an extent, −1 takes what is left.
    pub fn reshape(&self, value: Value<'n>, shape: &[i64]) -> Result<Value<'n>, LoweringError> {
        let shuffle = self.network.add_shuffle(value)?;
        shuffle.set_reshape_dimensions(shape)?;
        Ok(shuffle.output(0)?)
    }
}
