//! Layers: what all have ([`Layer`]), and what each kind adds.

use std::{fmt, marker::PhantomData, ops::Deref};

use crate::{
    ActivationType, DataType, ElementWiseOperation, Error, LayerType, PoolingType, Result, ScaleMode, Tensor,
    sys::{
        Permutation, Ptr,
        method::Count,
        table::{
            IActivationLayer, ICastLayer, IConcatenationLayer, IConstantLayer, IConvolutionLayer,
            IDeconvolutionLayer, IDequantizeLayer, IElementWiseLayer, ILayer, INetworkDefinition,
            IPoolingLayer, IQuantizeLayer, IScaleLayer, IShuffleLayer, ITensor,
        },
    },
    tensor::{c_string, dims, text},
};

/// A layer of a network; the network owns it.
#[derive(Clone, Copy)]
pub struct Layer<'n> {
    raw: ILayer,
    network: INetworkDefinition,
    lifetime: PhantomData<&'n ()>,
}

/// A kind of layer.
pub trait ConcreteLayer<'n>: Sized {
    /// What TensorRT calls the kind.
    const TYPE: LayerType;

    /// The layer, taken for one of this kind.
    #[doc(hidden)]
    fn assume(layer: Layer<'n>) -> Self;
}

impl<'n> Layer<'n> {
    pub(crate) fn new(network: INetworkDefinition, raw: Ptr) -> Option<Self> {
        ILayer::new(network.0.version(), raw).map(|raw| Self { raw, network, lifetime: PhantomData })
    }

    /// What it computes.
    pub fn layer_type(&self) -> Result<LayerType> {
        // SAFETY: the network, and with it the layer, is live.
        let value = unsafe { self.raw.get_type()? };
        let version = self.raw.0.version();
        LayerType::from_value(value, version).ok_or(Error::UnknownValue { what: "LayerType", value, version })
    }

    /// The layer as one of its kind; `None` if it is of another.
    pub fn downcast<L: ConcreteLayer<'n>>(self) -> Result<Option<L>> {
        Ok((self.layer_type()? == L::TYPE).then(|| L::assume(self)))
    }

    /// Its name.
    pub fn name(&self) -> Result<String> {
        // SAFETY: the layer is live; the name is copied before anything can change it.
        Ok(unsafe { text(self.raw.get_name()?) })
    }

    /// Renames it.
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = c_string(name)?;
        // SAFETY: the layer is live; the library copies the name.
        unsafe { self.raw.set_name(name.as_ptr()) }.map_err(Error::from)
    }

    /// How many inputs it has, absent ones included.
    pub fn input_count(&self) -> Result<usize> {
        // SAFETY: the layer is live.
        Ok(unsafe { self.raw.get_nb_inputs()? }.unsigned_abs() as usize)
    }

    /// An input; `None` if it is absent or there is no such index.
    pub fn input(&self, index: usize) -> Result<Option<Tensor<'n>>> {
        if index >= self.input_count()? {
            return Ok(None);
        }
        // SAFETY: the layer is live and has that many inputs.
        let raw = unsafe { self.raw.get_input(index as i32)? };
        Ok(ITensor::new(self.raw.0.version(), raw).map(|raw| Tensor::new(self.network, raw)))
    }

    /// Replaces an input, or adds one: a convolution's kernel is its input 1, its bias input 2.
    pub fn set_input(&self, index: u8, tensor: Tensor<'n>) -> Result<()> {
        if tensor.network() != self.network {
            return Err(Error::Foreign("tensor"));
        }
        // SAFETY: layer and tensor are live and of one network.
        unsafe { self.raw.set_input(index.into(), tensor.raw().0.as_ptr()) }.map_err(Error::from)
    }

    /// How many outputs it has.
    pub fn output_count(&self) -> Result<usize> {
        // SAFETY: the layer is live.
        Ok(unsafe { self.raw.get_nb_outputs()? }.unsigned_abs() as usize)
    }

    /// An output.
    pub fn output(&self, index: usize) -> Result<Tensor<'n>> {
        let count = self.output_count()?;
        if index >= count {
            return Err(Error::Index { what: "output", index, count });
        }
        // SAFETY: the layer is live and has that many outputs.
        let raw = unsafe { self.raw.get_output(index as i32)? };
        ITensor::new(self.raw.0.version(), raw)
            .map(|raw| Tensor::new(self.network, raw))
            .ok_or(Error::Index { what: "output", index, count })
    }

    /// Asks for a precision of computation; until TensorRT 10.
    pub fn set_precision(&self, precision: DataType) -> Result<()> {
        let value = precision.value(self.raw.0.version())?;
        // SAFETY: the layer is live; the type is one of this release.
        unsafe { self.raw.set_precision(value) }.map_err(Error::from)
    }

    /// Withdraws the wish for a precision; until TensorRT 10.
    pub fn reset_precision(&self) -> Result<()> {
        // SAFETY: the layer is live.
        unsafe { self.raw.reset_precision() }.map_err(Error::from)
    }

    /// The precision asked for, if any; until TensorRT 10.
    pub fn precision(&self) -> Result<Option<DataType>> {
        // SAFETY: the layer is live.
        let (is_set, value) = unsafe { (self.raw.precision_is_set()?, self.raw.get_precision()?) };
        Ok(DataType::from_value(value, self.raw.0.version()).filter(|_| is_set))
    }

    /// Asks for an output's element type; until TensorRT 10.
    pub fn set_output_type(&self, index: u8, data_type: DataType) -> Result<()> {
        let value = data_type.value(self.raw.0.version())?;
        // SAFETY: the layer is live; the library checks the index.
        unsafe { self.raw.set_output_type(index.into(), value) }.map_err(Error::from)
    }

    /// Whether an output's element type was asked for; until TensorRT 10.
    pub fn output_type_is_set(&self, index: u8) -> Result<bool> {
        // SAFETY: the layer is live; the library checks the index.
        Ok(unsafe { self.raw.output_type_is_set(index.into())? })
    }

    /// An output's element type.
    pub fn output_type(&self, index: u8) -> Result<DataType> {
        // SAFETY: the layer is live; the library checks the index.
        let value = unsafe { self.raw.get_output_type(index.into())? };
        let version = self.raw.0.version();
        DataType::from_value(value, version).ok_or(Error::UnknownValue { what: "DataType", value, version })
    }

    /// Free text that the inspector repeats; the ONNX parser puts node names there. Since TensorRT 8.6.
    pub fn metadata(&self) -> Result<String> {
        // SAFETY: the layer is live; the text is copied before anything can change it.
        Ok(unsafe { text(self.raw.get_metadata()?) })
    }

    /// Sets the free text that the inspector repeats. Since TensorRT 8.6.
    pub fn set_metadata(&self, metadata: &str) -> Result<()> {
        let metadata = c_string(metadata)?;
        // SAFETY: the layer is live; the library copies the text.
        unsafe { self.raw.set_metadata(metadata.as_ptr()) }.map_err(Error::from)
    }
}

impl fmt::Debug for Layer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer")
            .field("name", &self.name())
            .field("type", &self.layer_type())
            .finish_non_exhaustive()
    }
}

macro_rules! concrete {
    ($($(#[$doc:meta])* $name:ident: $class:ident, $type:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'n> {
            layer: Layer<'n>,
            raw: $class,
        }

        impl<'n> ConcreteLayer<'n> for $name<'n> {
            const TYPE: LayerType = LayerType::$type;

            fn assume(layer: Layer<'n>) -> Self {
                Self { layer, raw: $class(layer.raw.0) }
            }
        }

        impl<'n> Deref for $name<'n> {
            type Target = Layer<'n>;

            fn deref(&self) -> &Layer<'n> {
                &self.layer
            }
        }
    )*};
}
concrete! {
    /// A convolution.
    Convolution: IConvolutionLayer, Convolution;
    /// A deconvolution: the gradient of a convolution, ONNX's ConvTranspose.
    Deconvolution: IDeconvolutionLayer, Deconvolution;
    /// A pooling.
    Pooling: IPoolingLayer, Pooling;
    /// An activation.
    Activation: IActivationLayer, Activation;
    /// An element-wise operation on two tensors.
    ElementWise: IElementWiseLayer, Elementwise;
    /// `(x · scale + shift) ^ power`, coefficients shared as its mode says.
    Scale: IScaleLayer, Scale;
    /// A concatenation.
    Concatenation: IConcatenationLayer, Concatenation;
    /// A transpose, a reshape and a second transpose.
    Shuffle: IShuffleLayer, Shuffle;
    /// A constant.
    Constant: IConstantLayer, Constant;
    /// A conversion of element types.
    Cast: ICastLayer, Cast;
    /// A quantisation: round half to even of `x / scale`, saturated.
    Quantize: IQuantizeLayer, Quantize;
    /// A dequantisation: `x · scale`.
    Dequantize: IDequantizeLayer, Dequantize;
}

/// Shape setters and getters that several kinds share under TensorRT's names.
macro_rules! shapes {
    ($($kind:ident { $($doc:literal $get:ident: $raw_get:ident $(, $set:ident: $raw_set:ident)?;)* })*) => {$(
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
    )*};
}
shapes! {
    Convolution {
        "The kernel's spatial extents."
        kernel_size: get_kernel_size_nd;
        "The step between windows, by spatial axis."
        stride: get_stride_nd, set_stride: set_stride_nd;
        "The step between kernel elements, by spatial axis."
        dilation: get_dilation_nd, set_dilation: set_dilation_nd;
        "The elements added before the input, by spatial axis."
        pre_padding: get_pre_padding, set_pre_padding: set_pre_padding;
        "The elements added after the input, by spatial axis."
        post_padding: get_post_padding, set_post_padding: set_post_padding;
    }
    Deconvolution {
        "The kernel's spatial extents."
        kernel_size: get_kernel_size_nd;
        "The step between windows, by spatial axis."
        stride: get_stride_nd, set_stride: set_stride_nd;
        "The step between kernel elements, by spatial axis."
        dilation: get_dilation_nd, set_dilation: set_dilation_nd;
        "The elements cut off before the output, by spatial axis."
        pre_padding: get_pre_padding, set_pre_padding: set_pre_padding;
        "The elements cut off after the output, by spatial axis."
        post_padding: get_post_padding, set_post_padding: set_post_padding;
    }
    Pooling {
        "The window's spatial extents."
        window_size: get_window_size_nd;
        "The step between windows, by spatial axis."
        stride: get_stride_nd, set_stride: set_stride_nd;
        "The elements added before the input, by spatial axis."
        pre_padding: get_pre_padding, set_pre_padding: set_pre_padding;
        "The elements added after the input, by spatial axis."
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
            /// How many output channels it has.
            pub fn output_maps(&self) -> Result<i64> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_nb_output_maps()? }.0)
            }

            /// Into how many groups its channels are divided.
            pub fn groups(&self) -> Result<i64> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_nb_groups()? }.0)
            }

            /// Divides its channels into groups.
            pub fn set_groups(&self, groups: i64) -> Result<()> {
                // SAFETY: the layer is live and of this kind.
                unsafe { self.raw.set_nb_groups(Count(groups)) }.map_err(Error::from)
            }

            /// How many kernel elements it was given as constants; 0 if the kernel is an input.
            pub fn kernel_weight_count(&self) -> Result<i64> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_kernel_weights()? }.count)
            }

            /// How many bias elements it was given as constants.
            pub fn bias_weight_count(&self) -> Result<i64> {
                // SAFETY: the layer is live and of this kind.
                Ok(unsafe { self.raw.get_bias_weights()? }.count)
            }
        }
    )*};
}
kernels! { Convolution Deconvolution }

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

impl Pooling<'_> {
    /// What it computes of a window.
    pub fn pooling_type(&self) -> Result<PoolingType> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_pooling_type()? };
        PoolingType::from_value(value, version).ok_or(Error::UnknownValue {
            what: "PoolingType",
            value,
            version,
        })
    }

    /// Whether an average leaves padding out of the count.
    pub fn average_count_excludes_padding(&self) -> Result<bool> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { self.raw.get_average_count_excludes_padding()? })
    }

    /// Whether an average shall leave padding out of the count.
    pub fn set_average_count_excludes_padding(&self, exclude: bool) -> Result<()> {
        // SAFETY: the layer is live and of this kind.
        unsafe { self.raw.set_average_count_excludes_padding(exclude) }.map_err(Error::from)
    }
}

impl Activation<'_> {
    /// What it computes.
    pub fn activation_type(&self) -> Result<ActivationType> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_activation_type()? };
        ActivationType::from_value(value, version).ok_or(Error::UnknownValue {
            what: "ActivationType",
            value,
            version,
        })
    }

    /// The parameters α and β, whose meaning depends on the activation.
    pub fn parameters(&self) -> Result<(f32, f32)> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { (self.raw.get_alpha()?, self.raw.get_beta()?) })
    }

    /// Sets the parameters α and β.
    pub fn set_parameters(&self, alpha: f32, beta: f32) -> Result<()> {
        // SAFETY: the layer is live and of this kind.
        unsafe {
            self.raw.set_alpha(alpha)?;
            self.raw.set_beta(beta)?;
        }
        Ok(())
    }
}

impl ElementWise<'_> {
    /// What it computes.
    pub fn operation(&self) -> Result<ElementWiseOperation> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_operation()? };
        ElementWiseOperation::from_value(value, version).ok_or(Error::UnknownValue {
            what: "ElementWiseOperation",
            value,
            version,
        })
    }
}

impl Scale<'_> {
    /// How far its coefficients are shared.
    pub fn mode(&self) -> Result<ScaleMode> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_mode()? };
        ScaleMode::from_value(value, version).ok_or(Error::UnknownValue { what: "ScaleMode", value, version })
    }

    /// The axis of the channels.
    pub fn channel_axis(&self) -> Result<i32> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { self.raw.get_channel_axis()? })
    }
}

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

    /// Whether a 0 in the reshape copies an extent.
    pub fn zero_is_placeholder(&self) -> Result<bool> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { self.raw.get_zero_is_placeholder()? })
    }

    /// Whether a 0 in the reshape shall copy an extent, or be one.
    pub fn set_zero_is_placeholder(&self, copy: bool) -> Result<()> {
        // SAFETY: the layer is live and of this kind.
        unsafe { self.raw.set_zero_is_placeholder(copy) }.map_err(Error::from)
    }
}

impl Constant<'_> {
    /// How many elements it holds.
    pub fn weight_count(&self) -> Result<i64> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { self.raw.get_weights()? }.count)
    }
}

impl Cast<'_> {
    /// The type it converts to.
    pub fn to_type(&self) -> Result<DataType> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_to_type()? };
        DataType::from_value(value, version).ok_or(Error::UnknownValue { what: "DataType", value, version })
    }
}

fn permutation(order: &[u8]) -> Result<Permutation> {
    let mut permutation = Permutation::default();
    let slots = permutation.get_mut(..order.len()).ok_or(Error::Rank(order.len()))?;
    slots.iter_mut().zip(order).for_each(|(slot, &axis)| *slot = axis.into());
    Ok(permutation)
}
