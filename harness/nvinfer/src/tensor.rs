use std::{
    ffi::{CStr, CString},
    fmt,
    marker::PhantomData,
};

use crate::{
    DataType, Error, Result,
    sys::{Dims, Str, table::INetworkDefinition, table::ITensor},
};

/// A value of a network; the network owns it.
#[derive(Clone, Copy)]
pub struct Tensor<'n> {
    raw: ITensor,
    network: INetworkDefinition,
    lifetime: PhantomData<&'n ()>,
}

impl Tensor<'_> {
    pub(crate) fn new(network: INetworkDefinition, raw: ITensor) -> Self {
        Self { raw, network, lifetime: PhantomData }
    }

    pub(crate) fn raw(&self) -> ITensor {
        self.raw
    }

    pub(crate) fn network(&self) -> INetworkDefinition {
        self.network
    }

    /// The tensor's name.
    pub fn name(&self) -> Result<String> {
        // SAFETY: the network, and with it the tensor, is live; the name is copied before anything can change it.
        Ok(unsafe { text(self.raw.get_name()?) })
    }

    /// Renames the tensor.
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = c_string(name)?;
        // SAFETY: the tensor is live; the library copies the name.
        unsafe { self.raw.set_name(name.as_ptr()) }.map_err(Error::from)
    }

    /// The shape, in which a dynamic extent is −1; `None` if TensorRT could not infer the rank.
    pub fn shape(&self) -> Result<Option<Vec<i64>>> {
        // SAFETY: the tensor is live.
        let shape = unsafe { self.raw.get_dimensions()? };
        Ok(shape.extents().map(<[i64]>::to_vec))
    }

    /// Changes the shape of a network input.
    pub fn set_shape(&self, shape: &[i64]) -> Result<()> {
        let shape = dims(shape)?;
        // SAFETY: the tensor is live.
        unsafe { self.raw.set_dimensions(shape) }.map_err(Error::from)
    }

    /// The element type.
    pub fn data_type(&self) -> Result<DataType> {
        let version = self.raw.0.version();
        // SAFETY: the tensor is live.
        let value = unsafe { self.raw.get_type()? };
        Ok(DataType::from_value(value, version)?)
    }

    /// Requests the element type of a network input or output; until TensorRT 10. Strongly typed networks infer it.
    pub fn set_data_type(&self, data_type: DataType) -> Result<()> {
        let value = data_type.value(self.raw.0.version())?;
        // SAFETY: the tensor is live; the type is one of this release.
        unsafe { self.raw.set_type(value) }.map_err(Error::from)
    }

    /// Whether the tensor is a network input.
    pub fn is_network_input(&self) -> Result<bool> {
        // SAFETY: the tensor is live.
        Ok(unsafe { self.raw.is_network_input()? })
    }

    /// Whether the tensor is a network output.
    pub fn is_network_output(&self) -> Result<bool> {
        // SAFETY: the tensor is live.
        Ok(unsafe { self.raw.is_network_output()? })
    }

    /// Whether TensorRT needs the tensor's values to compute shapes.
    pub fn is_shape_tensor(&self) -> Result<bool> {
        // SAFETY: the tensor is live.
        Ok(unsafe { self.raw.is_shape_tensor()? })
    }

    /// Whether TensorRT needs the tensor to compute values.
    pub fn is_execution_tensor(&self) -> Result<bool> {
        // SAFETY: the tensor is live.
        Ok(unsafe { self.raw.is_execution_tensor()? })
    }

    /// The memory layouts that an input or output may have, as a bit mask.
    pub fn allowed_formats(&self) -> Result<u32> {
        // SAFETY: the tensor is live.
        Ok(unsafe { self.raw.get_allowed_formats()? })
    }

    /// Limits the memory layouts that an input or output may have, as a bit mask; bit 0 is row-major.
    pub fn set_allowed_formats(&self, formats: u32) -> Result<()> {
        // SAFETY: the tensor is live.
        unsafe { self.raw.set_allowed_formats(formats) }.map_err(Error::from)
    }

    /// The name of an axis, `None` if it has none. Dynamic extents of the same name are equal. Since TensorRT 8.5.
    pub fn dimension_name(&self, axis: u8) -> Result<Option<String>> {
        // SAFETY: the tensor is live; the name is copied before anything can change it.
        let name = unsafe { text(self.raw.get_dimension_name(axis.into())?) };
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    /// Names an axis of a network input. Since TensorRT 8.5.
    pub fn set_dimension_name(&self, axis: u8, name: &str) -> Result<()> {
        let name = c_string(name)?;
        // SAFETY: the tensor is live; the library copies the name.
        unsafe { self.raw.set_dimension_name(axis.into(), name.as_ptr()) }.map_err(Error::from)
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("name", &self.name())
            .field("shape", &self.shape())
            .finish_non_exhaustive()
    }
}

/// A shape in the library's representation.
pub fn dims(shape: &[i64]) -> Result<Dims> {
    Dims::new(shape).ok_or(Error::Rank(shape.len()))
}

/// A string in the library's representation.
pub fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Text(text.to_owned()))
}

/// Copies a string of the library; null is the empty string.
///
/// # Safety
/// `text` is null or the address of a NUL-terminated string that lives during the call.
pub unsafe fn text(text: Str) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller upholds that the string is NUL-terminated and live.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
