//! Layers that compute element by element: activations, element-wise operations, scales, constants and casts.

use super::{Activation, Cast, Constant, ElementWise, Scale};
use crate::{ActivationType, DataType, ElementWiseOperation, Result, ScaleMode};

impl Activation<'_> {
    /// The function that the layer computes.
    pub fn activation_type(&self) -> Result<ActivationType> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_activation_type()? };
        Ok(ActivationType::from_value(value, version)?)
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
    /// The operation that the layer computes.
    pub fn operation(&self) -> Result<ElementWiseOperation> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_operation()? };
        Ok(ElementWiseOperation::from_value(value, version)?)
    }
}

impl Scale<'_> {
    /// Whether the coefficients apply to the whole tensor, to a channel or to an element.
    pub fn mode(&self) -> Result<ScaleMode> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_mode()? };
        Ok(ScaleMode::from_value(value, version)?)
    }

    /// The axis of the channels.
    pub fn channel_axis(&self) -> Result<i32> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { self.raw.get_channel_axis()? })
    }
}

impl Constant<'_> {
    /// The number of elements of the constant.
    pub fn weight_count(&self) -> Result<i64> {
        // SAFETY: the layer is live and of this kind.
        Ok(unsafe { self.raw.get_weights()? }.count)
    }
}

impl Cast<'_> {
    /// The element type of the result.
    pub fn to_type(&self) -> Result<DataType> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_to_type()? };
        Ok(DataType::from_value(value, version)?)
    }
}
