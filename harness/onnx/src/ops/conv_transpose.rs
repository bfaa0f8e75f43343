use super::{
    conv::{bias_shape, element_types, ranks},
    inputs::Inputs,
};
use crate::{
    ConvTranspose, TensorType,
    geometry::Reading,
    rule::{Broken, Rule, require},
};

pub fn infer(op: &ConvTranspose, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x, w], [bias]) = inputs.take()?;
    element_types(inputs, x, w, bias)?;
    ranks(x, w)?;
    let geometry = match inputs.reading() {
        Reading::Stated => op.geometry(&x.shape[2..], &w.shape[2..])?,
        Reading::Misread => op.misread_geometry(&x.shape[2..], &w.shape[2..])?,
    };
    let group = geometry.group;
    require(x.shape[1] == w.shape[0], Rule::InputChannels, || {
        format!("X has {} channels, W takes {}", x.shape[1], w.shape[0])
    })?;
    require(x.shape[1].is_multiple_of(group), Rule::GroupDividesChannels, || {
        format!("{} input channels in {group} groups", x.shape[1])
    })?;
    let channels = w.shape[1].saturating_mul(group);
    bias_shape(bias, channels)?;
    let spatial = geometry.axes.iter().map(|axis| axis.output);
    let shape = [x.shape[0], channels].into_iter().chain(spatial).collect();
    Ok(TensorType { dtype: x.dtype, shape })
}
