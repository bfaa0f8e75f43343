//! What layers compute element by element.

use super::{Activation, Cast, Constant, ElementWise, Scale};
use crate::{ActivationType, DataType, ElementWiseOperation, Result, ScaleMode};

impl Activation<'_> {
    /// What it computes.
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
    /// What it computes.
    pub fn operation(&self) -> Result<ElementWiseOperation> {
        let version = self.raw.0.version();
        // SAFETY: the layer is live and of this kind.
        let value = unsafe { self.raw.get_operation()? };
        Ok(ElementWiseOperation::from_value(value, version)?)
    }
}

impl Scale<'_> {
    /// How far its coefficients are shared.
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
        Ok(DataType::from_value(value, version)?)
    }
}
