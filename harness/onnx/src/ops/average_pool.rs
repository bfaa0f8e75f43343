use super::inputs::{FLOATS, Inputs};
use crate::{
    AveragePool, TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer(op: &AveragePool, inputs: &Inputs) -> Result<TensorType, Broken> {
    let x = data(inputs)?;
    for (name, is_given, since) in
        [("ceil_mode", op.ceil_mode.is_some(), 10), ("dilations", op.dilations.is_some(), 19)]
    {
        require(!is_given || inputs.opset() >= since, Rule::AttributeKnown, || {
            format!("{name} in operator set {}", inputs.opset())
        })?;
    }
    let geometry = op.geometry(&x.shape[2..])?;
    let spatial = geometry.axes.iter().map(|axis| axis.output);
    let shape = x.shape[..2].iter().copied().chain(spatial).collect();
    Ok(TensorType { dtype: x.dtype, shape })
}

pub fn infer_global(inputs: &Inputs) -> Result<TensorType, Broken> {
    let x = data(inputs)?;
    let spatial = x.shape[2..].iter().map(|_| 1);
    let shape = x.shape[..2].iter().copied().chain(spatial).collect();
    Ok(TensorType { dtype: x.dtype, shape })
}

fn data<'a>(inputs: &Inputs<'a>) -> Result<&'a TensorType, Broken> {
    let ([x], []) = inputs.take()?;
    inputs.element_type("X", x.dtype, FLOATS, 22)?;
    require(x.shape.len() >= 3, Rule::DataRank, || format!("X is {:?}", x.shape))?;
    Ok(x)
}
