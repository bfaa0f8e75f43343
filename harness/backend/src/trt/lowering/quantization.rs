use nvinfer::Tensor as Value;
use twinfer_onnx::{DataType, DequantizeLinear, Node, QuantizeLinear, Tensor, resolve_axis};

use super::{Lowering, LoweringError, no_layer};

/// The axis along which scales lie when the attribute is absent.
const DEFAULT_AXIS: i64 = 1;

impl<'n, 'g> Lowering<'n, 'g> {
    pub fn quantize_linear(
        &mut self,
        node: &'g Node,
        op: &QuantizeLinear,
    ) -> Result<Value<'n>, LoweringError> {
        self.check_type(node, &node.outputs)?;
        self.check_zero_point(node)?;
        let (x, scale) = (self.input(node, 0)?, self.scale(node)?);
        let layer = self.network.add_quantize(x, scale)?;
        if let Some(axis) = self.axis(node, op.axis)? {
            layer.set_axis(axis)?;
        }
        Ok(layer.output(0)?)
    }

    pub fn dequantize_linear(
        &mut self,
        node: &'g Node,
        op: &DequantizeLinear,
    ) -> Result<Value<'n>, LoweringError> {
        if let Some(bias) = node.outputs.first().and_then(|name| self.preparation.biases.get(name.as_str())) {
            return self.constant(bias);
        }
        self.check_type(node, &node.inputs)?;
        self.check_zero_point(node)?;
        let (x, scale) = (self.input(node, 0)?, self.scale(node)?);
        let layer = self.network.add_dequantize_to(x, scale, scale.data_type()?)?;
        if let Some(axis) = self.axis(node, op.axis)? {
            layer.set_axis(axis)?;
        }
        Ok(layer.output(0)?)
    }

    /// TensorRT quantizes to int8; what is quantized is the first of `values`. A zero point that is left out tells no type.
    fn check_type(&self, node: &Node, values: &[String]) -> Result<(), LoweringError> {
        match values.first().and_then(|name| self.shapes.get(name)).map(|found| found.dtype) {
            Some(DataType::Int8) | None => Ok(()),
            Some(other) => Err(no_layer(node, format!("it is quantized as {other}, not int8"))),
        }
    }

    /// TensorRT quantizes symmetrically.
    fn check_zero_point(&self, node: &Node) -> Result<(), LoweringError> {
        if node.input(2).is_none() {
            return Ok(());
        }
        match self.known(node, 2) {
            Some(zero_point) if zero_point.to_f64().iter().all(|&value| value == 0.0) => Ok(()),
            Some(_) => Err(no_layer(node, "a zero point is not 0".to_owned())),
            None => Err(no_layer(node, "the zero point is not an initializer".to_owned())),
        }
    }

    fn scale(&self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        let scale = self
            .known(node, 1)
            .ok_or_else(|| no_layer(node, "the scale is not an initializer".to_owned()))?;
        if is_per_tensor(scale) {
            self.constant(&Tensor { shape: Vec::new(), data: scale.data.clone() })
        } else {
            self.constant(scale)
        }
    }

    /// The axis of per-channel scales; `None` where one scale serves the tensor.
    fn axis(&self, node: &Node, axis: Option<i64>) -> Result<Option<u8>, LoweringError> {
        if self.known(node, 1).is_none_or(is_per_tensor) {
            return Ok(None);
        }
        let axis = axis.unwrap_or(DEFAULT_AXIS);
        resolve_axis(axis, self.shape(node, 0).len())
            .map(|axis| Some(axis as u8))
            .map_err(|_| no_layer(node, format!("axis {axis} is out of range")))
    }
}

fn is_per_tensor(scale: &Tensor) -> bool {
    scale.shape.iter().product::<usize>() == 1
}
