//! Layers: [`Layer`] has what is common to all, and one type for each kind adds its own methods.

mod axis;
mod kind;
mod operation;
mod shuffle;
mod window;

use std::{fmt, marker::PhantomData};

use crate::{
    Availability, DataType, Error, LayerType, Result, Tensor,
    sys::{
        Ptr,
        table::{ILayer, INetworkDefinition, ITensor, releases_with},
    },
    tensor::{c_string, text},
};
pub use kind::{
    Activation, Cast, Concatenation, Constant, Convolution, Deconvolution, Dequantize, ElementWise, Pooling,
    Quantize, Scale, Shuffle,
};

/// A layer of a network; the network owns it.
#[derive(Clone, Copy)]
pub struct Layer<'n> {
    raw: ILayer,
    network: INetworkDefinition,
    lifetime: PhantomData<&'n ()>,
}

/// A layer whose kind is known at compile time.
pub trait ConcreteLayer<'n>: Sized {
    /// TensorRT's identifier of the kind.
    const TYPE: LayerType;

    /// Wraps a layer, whose kind the caller has checked.
    #[doc(hidden)]
    fn assume(layer: Layer<'n>) -> Self;
}

impl<'n> Layer<'n> {
    pub(crate) fn new(network: INetworkDefinition, raw: Ptr) -> Option<Self> {
        ILayer::new(network.0.version(), raw).map(|raw| Self { raw, network, lifetime: PhantomData })
    }

    /// The kind of layer.
    pub fn layer_type(&self) -> Result<LayerType> {
        // SAFETY: the network, and with it the layer, is live.
        let value = unsafe { self.raw.get_type()? };
        let version = self.raw.0.version();
        Ok(LayerType::from_value(value, version)?)
    }

    /// The layer as type `L`; `None` if it is of another kind.
    pub fn downcast<L: ConcreteLayer<'n>>(self) -> Result<Option<L>> {
        Ok((self.layer_type()? == L::TYPE).then(|| L::assume(self)))
    }

    /// The layer's name.
    pub fn name(&self) -> Result<String> {
        // SAFETY: the layer is live; the name is copied before anything can change it.
        Ok(unsafe { text(self.raw.get_name()?) })
    }

    /// Renames the layer.
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = c_string(name)?;
        // SAFETY: the layer is live; the library copies the name.
        unsafe { self.raw.set_name(name.as_ptr()) }.map_err(Error::from)
    }

    /// The number of inputs, absent ones included.
    pub fn input_count(&self) -> Result<usize> {
        // SAFETY: the layer is live.
        Ok(unsafe { self.raw.get_nb_inputs()? }.unsigned_abs() as usize)
    }

    /// An input by index; `None` if the input is absent or the index is out of range.
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

    /// The number of outputs.
    pub fn output_count(&self) -> Result<usize> {
        // SAFETY: the layer is live.
        Ok(unsafe { self.raw.get_nb_outputs()? }.unsigned_abs() as usize)
    }

    /// An output by index.
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

    /// The releases in which a layer can be asked for a precision.
    pub fn releases_with_precision() -> Availability {
        releases_with("ILayer::setPrecision")
    }

    /// Requests a precision for the layer's computation; until TensorRT 10.
    pub fn set_precision(&self, precision: DataType) -> Result<()> {
        let value = precision.value(self.raw.0.version())?;
        // SAFETY: the layer is live; the type is one of this release.
        unsafe { self.raw.set_precision(value) }.map_err(Error::from)
    }

    /// Withdraws a requested precision; until TensorRT 10.
    pub fn reset_precision(&self) -> Result<()> {
        // SAFETY: the layer is live.
        unsafe { self.raw.reset_precision() }.map_err(Error::from)
    }

    /// The requested precision; `None` if none was requested. Until TensorRT 10.
    pub fn precision(&self) -> Result<Option<DataType>> {
        // SAFETY: the layer is live.
        let (is_set, value) = unsafe { (self.raw.precision_is_set()?, self.raw.get_precision()?) };
        Ok(DataType::from_value(value, self.raw.0.version()).ok().filter(|_| is_set))
    }

    /// Requests the element type of an output; until TensorRT 10.
    pub fn set_output_type(&self, index: u8, data_type: DataType) -> Result<()> {
        let value = data_type.value(self.raw.0.version())?;
        // SAFETY: the layer is live; the library checks the index.
        unsafe { self.raw.set_output_type(index.into(), value) }.map_err(Error::from)
    }

    /// Whether an element type was requested for an output; until TensorRT 10.
    pub fn output_type_is_set(&self, index: u8) -> Result<bool> {
        // SAFETY: the layer is live; the library checks the index.
        Ok(unsafe { self.raw.output_type_is_set(index.into())? })
    }

    /// The element type of an output.
    pub fn output_type(&self, index: u8) -> Result<DataType> {
        // SAFETY: the layer is live; the library checks the index.
        let value = unsafe { self.raw.get_output_type(index.into())? };
        let version = self.raw.0.version();
        Ok(DataType::from_value(value, version)?)
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
