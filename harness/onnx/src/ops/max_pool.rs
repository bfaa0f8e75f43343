use super::inputs::{FLOATS, Inputs};
use crate::{
    DataType::{self, Int8, Uint8},
    MaxPool, TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer(op: &MaxPool, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x], []) = inputs.take()?;
    for (name, is_given, since) in [
        ("storage_order", op.storage_order.is_some(), 8),
        ("ceil_mode", op.ceil_mode.is_some(), 10),
        ("dilations", op.dilations.is_some(), 10),
    ] {
        require(!is_given || inputs.opset() >= since, Rule::AttributeKnown, || {
            format!("{name} in operator set {}", inputs.opset())
        })?;
    }
    let integers: &[DataType] = if inputs.opset() >= 12 { &[Int8, Uint8] } else { &[] };
    inputs.element_type("X", x.dtype, &[FLOATS, integers].concat(), 22)?;
    require(x.shape.len() >= 3, Rule::DataRank, || format!("X is {:?}", x.shape))?;
    let geometry = op.geometry(&x.shape[2..])?;
    let spatial = geometry.axes.iter().map(|axis| axis.output);
    let shape = [x.shape[0], x.shape[1]].into_iter().chain(spatial).collect();
    Ok(TensorType { dtype: x.dtype, shape })
}
