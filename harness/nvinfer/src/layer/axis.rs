//! The axis that some kinds of layers work along.

use super::{Concatenation, Dequantize, Quantize};
use crate::{Error, Result};

macro_rules! axes {
    ($($kind:ident $doc:literal;)*) => {$(
        impl $kind<'_> {
            #[doc = $doc]
            pub fn axis(&self) -> Result<i32> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_axis()? })
            }

            #[doc = concat!("Sets t", $doc)]
            pub fn set_axis(&self, axis: u8) -> Result<()> {
                // SAFETY: the layer is live and of this kind.
                unsafe { self.raw.set_axis(axis.into()) }.map_err(Error::from)
            }
        }
    )*};
}
axes! {
    Concatenation "he axis along which it concatenates.";
    Quantize "he axis along which the scales lie.";
    Dequantize "he axis along which the scales lie.";
}
