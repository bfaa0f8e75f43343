use super::inputs::{FLOATS, Inputs};
use crate::{
    DataType::{self, Bool, Int8, Int32, Int64, Uint8},
    TensorType,
    rule::Broken,
};

pub fn infer_relu(inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x], []) = inputs.take()?;
    let integers: &[DataType] = if inputs.opset() >= 14 { &[Int8, Int32, Int64] } else { &[] };
    inputs.element_type("X", x.dtype, &[FLOATS, integers].concat(), 13)?;
    Ok(x.clone())
}

/// The type of an operator of floats, which takes bfloat16 from operator set `bfloat16_since` on.
pub fn infer_float(inputs: &Inputs, bfloat16_since: i64) -> Result<TensorType, Broken> {
    let ([x], []) = inputs.take()?;
    inputs.element_type("X", x.dtype, FLOATS, bfloat16_since)?;
    Ok(x.clone())
}

pub fn infer_identity(inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x], []) = inputs.take()?;
    any_type("input", x.dtype, inputs)?;
    Ok(x.clone())
}

/// Demands a type that operators which only move elements take.
pub fn any_type(name: &str, dtype: DataType, inputs: &Inputs) -> Result<(), Broken> {
    inputs.element_type(name, dtype, &[FLOATS, &[Bool, Int8, Int32, Int64, Uint8]].concat(), 13)
}
