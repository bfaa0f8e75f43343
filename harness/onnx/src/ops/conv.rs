use super::inputs::{FLOATS, Inputs, same_element_type};
use crate::{
    Conv, TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer(op: &Conv, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x, w], [bias]) = inputs.take()?;
    element_types(inputs, x, w, bias)?;
    Ok(TensorType { dtype: x.dtype, shape: output_shape(op, x, w, bias)? })
}

/// The extents of the output, whatever the element types.
pub fn output_shape(
    op: &Conv,
    x: &TensorType,
    w: &TensorType,
    bias: Option<&TensorType>,
) -> Result<Vec<usize>, Broken> {
    ranks(x, w)?;
    let geometry = op.geometry(&x.shape[2..], &w.shape[2..])?;
    let group = geometry.group;
    require(x.shape[1] == w.shape[1].saturating_mul(group), Rule::InputChannels, || {
        format!("X has {} channels, W takes {} in each of {group} groups", x.shape[1], w.shape[1])
    })?;
    require(w.shape[0].is_multiple_of(group), Rule::GroupDividesChannels, || {
        format!("{} output channels in {group} groups", w.shape[0])
    })?;
    bias_shape(bias, w.shape[0])?;
    let spatial = geometry.axes.iter().map(|axis| axis.output);
    Ok([x.shape[0], w.shape[0]].into_iter().chain(spatial).collect())
}

pub fn element_types(
    inputs: &Inputs,
    x: &TensorType,
    w: &TensorType,
    bias: Option<&TensorType>,
) -> Result<(), Broken> {
    inputs.element_type("X", x.dtype, FLOATS, 22)?;
    same_element_type("X and W", x, w)?;
    bias.map_or(Ok(()), |bias| same_element_type("X and B", x, bias))
}

pub fn ranks(x: &TensorType, w: &TensorType) -> Result<(), Broken> {
    require(x.shape.len() >= 3, Rule::DataRank, || format!("X is {:?}", x.shape))?;
    require(w.shape.len() == x.shape.len(), Rule::WeightRank, || {
        format!("X is {:?}, W is {:?}", x.shape, w.shape)
    })
}

pub fn bias_shape(bias: Option<&TensorType>, channels: usize) -> Result<(), Broken> {
    let fits = bias.is_none_or(|bias| bias.shape == [channels]);
    require(fits, Rule::BiasShape, || {
        format!("B is {:?} for {channels} output channels", bias.map(|bias| &bias.shape))
    })
}
