use super::{elementwise::any_type, inputs::Inputs};
use crate::{
    TensorType, Transpose,
    rule::{Broken, Rule, require},
};

pub fn infer(op: &Transpose, inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([x], []) = inputs.take()?;
    any_type("data", x.dtype, inputs)?;
    let order = op.order(x.shape.len())?;
    Ok(TensorType { dtype: x.dtype, shape: order.iter().map(|axis| x.shape[*axis]).collect() })
}

impl Transpose {
    /// The axis of the data, of which there are `rank`, that each axis of the output is: `perm`, by default the axes in reverse.
    ///
    /// ```
    /// use twinfer_onnx::Transpose;
    ///
    /// let to_channels_last = Transpose { perm: Some(vec![0, 2, 3, 1]) };
    /// assert_eq!(to_channels_last.order(4), Ok(vec![0, 2, 3, 1]));
    /// assert_eq!(Transpose::default().order(3), Ok(vec![2, 1, 0]));
    /// assert!(to_channels_last.order(3).is_err());
    /// ```
    pub fn order(&self, rank: usize) -> Result<Vec<usize>, Broken> {
        let Some(perm) = &self.perm else { return Ok((0..rank).rev().collect()) };
        let mut is_named = vec![false; rank];
        let axes = perm.iter().map_while(|axis| {
            let axis = usize::try_from(*axis).ok().filter(|axis| *axis < rank)?;
            (!std::mem::replace(&mut is_named[axis], true)).then_some(axis)
        });
        let axes: Vec<_> = axes.collect();
        require(axes.len() == rank && perm.len() == rank, Rule::Permutation, || {
            format!("perm is {perm:?} for {rank} axes")
        })?;
        Ok(axes)
    }
}
