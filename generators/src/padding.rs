//! What the ways to pad a convolution mean for its attributes.

use twinfer_onnx::AutoPad;

use crate::{OutputPadding, Padding};

impl Padding {
    pub(crate) const fn auto_pad(self) -> Option<AutoPad> {
        match self {
            Self::NotSet | Self::NotSetAlone | Self::OutputShapeNotSet => Some(AutoPad::NotSet),
            Self::SameUpper | Self::OutputShapeUpper => Some(AutoPad::SameUpper),
            Self::SameLower | Self::OutputShapeLower => Some(AutoPad::SameLower),
            Self::Valid | Self::OutputShapeValid => Some(AutoPad::Valid),
            _ => None,
        }
    }

    pub(crate) const fn is_same(self) -> bool {
        matches!(self, Self::SameUpper | Self::SameLower)
    }

    /// Whether the padding follows from a chosen output extent.
    pub(crate) const fn has_output_shape(self) -> bool {
        matches!(
            self,
            Self::OutputShape
                | Self::OutputShapeNotSet
                | Self::OutputShapeUpper
                | Self::OutputShapeLower
                | Self::OutputShapeValid
                | Self::OutputShapeOverPads
        )
    }

    pub(crate) const fn writes_pads(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Symmetric | Self::Asymmetric | Self::NotSet | Self::OutputShapeOverPads
        )
    }
}

impl OutputPadding {
    pub(crate) const fn is_zero(self) -> bool {
        matches!(self, Self::Absent | Self::Zero)
    }
}
