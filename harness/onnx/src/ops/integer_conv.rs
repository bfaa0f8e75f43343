//! Convolutions of integers.

use super::{
    conv,
    inputs::{Inputs, same_element_type},
    quantization::is_per_tensor,
};
use crate::{
    Conv,
    DataType::{Float, Int8, Int32, Uint8},
    TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer_conv_integer(op: &Conv, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x, w], [x_zero_point, w_zero_point]) = inputs.take()?;
    inputs.element_type("x", x.dtype, &[Int8, Uint8], i64::MAX)?;
    inputs.element_type("w", w.dtype, &[Int8, Uint8], i64::MAX)?;
    let shape = conv::output_shape(op, x, w, None)?;
    if let Some(zero_point) = x_zero_point {
        same_element_type("x and x_zero_point", x, zero_point)?;
        one_value("x_zero_point", Rule::ZeroPointShape, zero_point)?;
    }
    if let Some(zero_point) = w_zero_point {
        same_element_type("w and w_zero_point", w, zero_point)?;
        one_value_or_one_a_channel("w_zero_point", Rule::ZeroPointShape, zero_point, w)?;
    }
    Ok(TensorType { dtype: Int32, shape })
}

pub fn infer_q_linear_conv(op: &Conv, inputs: &Inputs) -> Result<TensorType, Broken> {
    let (required, [bias]) = inputs.take()?;
    let [x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point] = required;
    for (name, integers) in [("x", x), ("w", w), ("y_zero_point", y_zero_point)] {
        inputs.element_type(name, integers.dtype, &[Int8, Uint8], i64::MAX)?;
    }
    for (name, scale) in [("x_scale", x_scale), ("w_scale", w_scale), ("y_scale", y_scale)] {
        inputs.element_type(name, scale.dtype, &[Float], i64::MAX)?;
    }
    same_element_type("x and x_zero_point", x, x_zero_point)?;
    same_element_type("w and w_zero_point", w, w_zero_point)?;
    if let Some(bias) = bias {
        inputs.element_type("B", bias.dtype, &[Int32], i64::MAX)?;
    }
    let shape = conv::output_shape(op, x, w, bias)?;
    one_value("x_scale", Rule::ScaleShape, x_scale)?;
    one_value("y_scale", Rule::ScaleShape, y_scale)?;
    one_value("x_zero_point", Rule::ZeroPointShape, x_zero_point)?;
    one_value("y_zero_point", Rule::ZeroPointShape, y_zero_point)?;
    one_value_or_one_a_channel("w_scale", Rule::ScaleShape, w_scale, w)?;
    one_value_or_one_a_channel("w_zero_point", Rule::ZeroPointShape, w_zero_point, w)?;
    Ok(TensorType { dtype: y_zero_point.dtype, shape })
}

fn one_value(name: &str, rule: Rule, parameter: &TensorType) -> Result<(), Broken> {
    require(is_per_tensor(&parameter.shape), rule, || format!("{name} is {:?}", parameter.shape))
}

fn one_value_or_one_a_channel(
    name: &str,
    rule: Rule,
    parameter: &TensorType,
    w: &TensorType,
) -> Result<(), Broken> {
    let fits = is_per_tensor(&parameter.shape) || parameter.shape == w.shape[..1];
    require(fits, rule, || format!("{name} is {:?} for {} output channels", parameter.shape, w.shape[0]))
}
