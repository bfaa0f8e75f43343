use super::{
    concat::resolve_axis,
    inputs::{Inputs, same_element_type},
};
use crate::{
    DataType::{Float, Float16, Int8, Int32, Uint8},
    DequantizeLinear, QuantizeLinear, TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer_quantize(op: &QuantizeLinear, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x, scale], [zero_point]) = inputs.take()?;
    let float16: &[_] = if inputs.opset() >= 19 { &[Float16] } else { &[] };
    inputs.element_type("x", x.dtype, &[&[Float, Int32], float16].concat(), 19)?;
    match inputs.opset() {
        ..19 => inputs.element_type("y_scale", scale.dtype, &[Float], 19)?,
        19..23 => same_element_type("x and y_scale", x, scale)?,
        23.. => inputs.element_type("y_scale", scale.dtype, &[Float, Float16, Int32], 23)?,
    }
    if let Some(zero_point) = zero_point {
        inputs.element_type("y_zero_point", zero_point.dtype, &[Int8, Uint8], i64::MAX)?;
    }
    parameters(op.axis, inputs.opset(), x, scale, zero_point)?;
    Ok(TensorType { dtype: zero_point.map_or(Uint8, |zero_point| zero_point.dtype), shape: x.shape.clone() })
}

pub fn infer_dequantize(op: &DequantizeLinear, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x, scale], [zero_point]) = inputs.take()?;
    inputs.element_type("x", x.dtype, &[Int8, Uint8, Int32], i64::MAX)?;
    let float16: &[_] = if inputs.opset() >= 19 { &[Float16] } else { &[] };
    inputs.element_type("x_scale", scale.dtype, &[&[Float], float16].concat(), 19)?;
    if let Some(zero_point) = zero_point {
        same_element_type("x and x_zero_point", x, zero_point)?;
    }
    parameters(op.axis, inputs.opset(), x, scale, zero_point)?;
    Ok(TensorType { dtype: scale.dtype, shape: x.shape.clone() })
}

/// Scale and zero point: one value, or, from operator set 13 on, one along `axis`, which is 1 where it is absent.
fn parameters(
    axis: Option<i64>,
    opset: i64,
    x: &TensorType,
    scale: &TensorType,
    zero_point: Option<&TensorType>,
) -> Result<(), Broken> {
    require(axis.is_none() || opset >= 13, Rule::AttributeKnown, || format!("axis in operator set {opset}"))?;
    if !is_per_tensor(&scale.shape) {
        require(opset >= 13 && scale.shape.len() == 1, Rule::ScaleShape, || {
            format!("the scale is {:?} in operator set {opset}", scale.shape)
        })?;
        let axis = resolve_axis(axis.unwrap_or(1), x.shape.len())?;
        require(scale.shape[0] == x.shape[axis], Rule::ScaleShape, || {
            format!("the scale is {:?} for extent {} of axis {axis}", scale.shape, x.shape[axis])
        })?;
    }
    let fits = zero_point.is_none_or(|zero_point| {
        zero_point.shape == scale.shape || is_per_tensor(&zero_point.shape) && is_per_tensor(&scale.shape)
    });
    require(fits, Rule::ZeroPointShape, || {
        format!("scale {:?}, zero point {:?}", scale.shape, zero_point.map(|zero_point| &zero_point.shape))
    })
}

/// Whether one value serves the whole tensor: a scalar, or a vector of one.
pub fn is_per_tensor(shape: &[usize]) -> bool {
    shape.is_empty() || shape == [1]
}
