use super::inputs::{FLOATS, Inputs, same_element_type};
use crate::{
    DataType::{self, Int8, Int32, Int64, Uint8},
    TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer(inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x], bounds) = inputs.take::<1, 2>()?;
    let integers: &[DataType] = if inputs.opset() >= 12 { &[Int8, Int32, Int64, Uint8] } else { &[] };
    inputs.element_type("input", x.dtype, &[FLOATS, integers].concat(), 13)?;
    for (name, bound) in ["min", "max"].into_iter().zip(bounds) {
        let Some(bound) = bound else { continue };
        same_element_type(&format!("input and {name}"), x, bound)?;
        require(bound.shape.is_empty(), Rule::BoundShape, || format!("{name} is {:?}", bound.shape))?;
    }
    Ok(x.clone())
}
