use super::{
    elementwise::any_type,
    inputs::{Inputs, same_element_type},
};
use crate::{
    Concat, TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer(op: &Concat, inputs: &Inputs) -> Result<TensorType, Broken> {
    let parts = inputs.take_all()?;
    let first = parts[0];
    any_type("inputs", first.dtype, inputs)?;
    require(op.axis >= 0 || inputs.opset() >= 11, Rule::AxisRange, || {
        format!("axis {} in operator set {}", op.axis, inputs.opset())
    })?;
    let axis = resolve_axis(op.axis, first.shape.len())?;
    let mut shape = first.shape.clone();
    for part in &parts[1..] {
        same_element_type("inputs", first, part)?;
        require(agree_but_for(axis, &first.shape, &part.shape), Rule::ConcatExtents, || {
            format!("{:?} and {:?} along axis {axis}", first.shape, part.shape)
        })?;
        shape[axis] = shape[axis].saturating_add(part.shape[axis]);
    }
    Ok(TensorType { dtype: first.dtype, shape })
}

fn agree_but_for(axis: usize, a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).enumerate().all(|(place, (a, b))| place == axis || a == b)
}

/// The axis that an `axis` attribute names; a negative one counts from the end.
pub fn resolve_axis(axis: i64, rank: usize) -> Result<usize, Broken> {
    let from_start = if axis < 0 { axis.saturating_add_unsigned(rank as u64) } else { axis };
    match usize::try_from(from_start) {
        Ok(place) if place < rank => Ok(place),
        _ => Err(Broken { rule: Rule::AxisRange, detail: format!("axis {axis} of a tensor of rank {rank}") }),
    }
}
