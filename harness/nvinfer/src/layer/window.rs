//! Layers with a window: convolutions, deconvolutions and poolings, with one extent per spatial axis.

use super::{Constant, Convolution, Deconvolution, Pooling, Shuffle};
use crate::{Error, PoolingType, Result, sys::method::Count, tensor::dims};

/// Shape setters and getters that several kinds share under TensorRT's names.
macro_rules! shapes {
    (@ $kind:ident { $($doc:literal $get:ident: $raw_get:ident $(, $set:ident: $raw_set:ident)?;)* }) => {
        impl $kind<'_> {$(
            #[doc = $doc]
            pub fn $get(&self) -> Result<Vec<i64>> {
                // SAFETY: the layer is live and of this kind.
                let shape = unsafe { self.raw.$raw_get()? };
                Ok(shape.extents().unwrap_or_default().to_vec())
            }

            $(
                #[doc = $doc]
                pub fn $set(&self, extents: &[i64]) -> Result<()> {
                    let extents = dims(extents)?;
                    // SAFETY: the layer is live and of this kind.
                    unsafe { self.raw.$raw_set(extents) }.map_err(Error::from)
                }
            )?
        )*}
    };
    (@each [$($kind:ident)+] $methods:tt) => {
        $(shapes! { @ $kind $methods })+
    };
    ($($($kind:ident)+ { $($method:tt)* })*) => {
        $(shapes! { @each [$($kind)+] { $($method)* } })*
    };
}
shapes! {
    Convolution Deconvolution {
        "The kernel's spatial extents."
        kernel_size: get_kernel_size_nd;
        "The step between kernel elements, by spatial axis."
        dilation: get_dilation_nd, set_dilation: set_dilation_nd;
    }
    Pooling {
        "The window's spatial extents."
        window_size: get_window_size_nd;
    }
    Convolution Deconvolution Pooling {
        "The step between windows, by spatial axis."
        stride: get_stride_nd, set_stride: set_stride_nd;
    }
    Convolution Pooling {
        "The elements added before the input, by spatial axis."
        pre_padding: get_pre_padding, set_pre_padding: set_pre_padding;
        "The elements added after the input, by spatial axis."
        post_padding: get_post_padding, set_post_padding: set_post_padding;
    }
    Deconvolution {
        "The elements cut off before the output, by spatial axis."
        pre_padding: get_pre_padding, set_pre_padding: set_pre_padding;
        "The elements cut off after the output, by spatial axis."
        post_padding: get_post_padding, set_post_padding: set_post_padding;
    }
    Shuffle {
        "The shape between the transposes; 0 copies an extent, −1 takes what is left."
        reshape_dimensions: get_reshape_dimensions, set_reshape_dimensions: set_reshape_dimensions;
    }
    Constant {
        "Its extents."
        dimensions: get_dimensions;
    }
}

macro_rules! kernels {
    ($($kind:ident)*) => {$(
        impl $kind<'_> {
            /// The number of output channels.
            pub fn output_maps(&self) -> Result<i64> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_nb_output_maps()? }.0)
            }

            /// The number of groups that the channels are divided into.
            pub fn groups(&self) -> Result<i64> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_nb_groups()? }.0)
            }

            /// Sets the number of groups that the channels are divided into.
            pub fn set_groups(&self, groups: i64) -> Result<()> {
                // SAFETY: the layer is live and of this kind.
                unsafe { self.raw.set_nb_groups(Count(groups)) }.map_err(Error::from)
            }

            /// The number of constant kernel elements; 0 if the kernel is an input.
            pub fn kernel_weight_count(&self) -> Result<i64> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_kernel_weights()? }.count)
            }

            /// The number of constant bias elements; 0 if there are none.
            pub fn bias_weight_count(&self) -> Result<i64> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_bias_weights()? }.count)
            }
        }
    )*};
}
kernels! { Convolution Deconvolution }

impl Pooling<'_> {
    /// The operation on each window.
    pub fn pooling_type(&self) -> Result<PoolingType> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_pooling_type()? };
        Ok(PoolingType::from_value(value, version)?)
    }

    /// Whether an average pooling excludes padding from the count.
    pub fn average_count_excludes_padding(&self) -> Result<bool> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { self.raw.get_average_count_excludes_padding()? })
    }

    /// Sets whether an average pooling excludes padding from the count.
    pub fn set_average_count_excludes_padding(&self, exclude: bool) -> Result<()> {
        // SAFETY: the layer is live and of this kind.
        unsafe { self.raw.set_average_count_excludes_padding(exclude) }.map_err(Error::from)
    }
}
