//! The transposes around a reshape.

use super::Shuffle;
use crate::{Error, Result, sys::Permutation};

impl Shuffle<'_> {
    /// Transposes before the reshape: output axis `i` is input axis `order[i]`.
    pub fn set_first_transpose(&self, order: &[u8]) -> Result<()> {
        let mut order = permutation(order)?;
        // SAFETY: the layer is live and of this kind; the library reads the permutation during the call.
        unsafe { self.raw.set_first_transpose((&raw mut order).cast()) }.map_err(Error::from)
    }

    /// Transposes after the reshape: output axis `i` is input axis `order[i]`.
    pub fn set_second_transpose(&self, order: &[u8]) -> Result<()> {
        let mut order = permutation(order)?;
        // SAFETY: the layer is live and of this kind; the library reads the permutation during the call.
        unsafe { self.raw.set_second_transpose((&raw mut order).cast()) }.map_err(Error::from)
    }

    /// Whether a 0 in the shape of the reshape copies the input's extent.
    pub fn zero_is_placeholder(&self) -> Result<bool> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { self.raw.get_zero_is_placeholder()? })
    }

    /// Sets whether a 0 in the shape of the reshape copies the input's extent or is an extent of zero.
    pub fn set_zero_is_placeholder(&self, copy: bool) -> Result<()> {
        // SAFETY: the layer is live and of this kind.
        unsafe { self.raw.set_zero_is_placeholder(copy) }.map_err(Error::from)
    }
}

fn permutation(order: &[u8]) -> Result<Permutation> {
    let mut permutation = Permutation::default();
    let slots = permutation.get_mut(..order.len()).ok_or(Error::Rank(order.len()))?;
    slots.iter_mut().zip(order).for_each(|(slot, &axis)| *slot = axis.into());
    Ok(permutation)
}
