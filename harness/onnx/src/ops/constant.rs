use super::{elementwise::any_type, inputs::Inputs};
use crate::{Tensor, TensorType, rule::Broken};

pub fn infer(value: &Tensor, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([], []) = inputs.take()?;
    any_type("value", value.dtype(), inputs)?;
    Ok(TensorType { dtype: value.dtype(), shape: value.shape.clone() })
}
