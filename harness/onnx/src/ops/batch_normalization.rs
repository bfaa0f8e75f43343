use super::inputs::{FLOATS, Inputs, same_element_type};
use crate::{
    BatchNormalization, TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer(op: &BatchNormalization, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x, scale, bias, mean, variance], []) = inputs.take()?;
    require(op.training_mode.is_none() || inputs.opset() >= 14, Rule::AttributeKnown, || {
        format!("training_mode in operator set {}", inputs.opset())
    })?;
    require(op.training_mode.unwrap_or(0) == 0, Rule::OutputCount, || {
        "training_mode has outputs that twinfer does not represent".to_owned()
    })?;
    for parameter in [x, scale, bias, mean, variance] {
        inputs.element_type("an input", parameter.dtype, FLOATS, 14)?;
    }
    same_element_type("scale and B", scale, bias)?;
    same_element_type("mean and var", mean, variance)?;
    if inputs.opset() < 15 {
        same_element_type("X and scale", x, scale)?;
    }
    if inputs.opset() < 14 {
        same_element_type("X and mean", x, mean)?;
    }
    require(x.shape.len() >= 2, Rule::DataRank, || format!("X is {:?}", x.shape))?;
    for (name, parameter) in [("scale", scale), ("B", bias), ("mean", mean), ("var", variance)] {
        require(parameter.shape == [x.shape[1]], Rule::ParameterShape, || {
            format!("{name} is {:?} for {} channels", parameter.shape, x.shape[1])
        })?;
    }
    Ok(x.clone())
}
