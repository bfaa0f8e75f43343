use serde::{Deserialize, Serialize};

use crate::{Tensor, numbers};

/// An operator of the default ONNX domain with its attributes.
///
/// `Constant` has its attribute `value`. The bounds of `Clip` are its inputs min and max, which are optional. A decoded model has initializers in place of its Constants.
///
/// An attribute that is `None` is absent from the encoded node: whether a default is written out or left out is
/// something backends have differed on, so the two are different graphs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op_type")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is the ONNX operator of the same name")]
pub enum Op {
    Add,
    AveragePool(AveragePool),
    BatchNormalization(BatchNormalization),
    Clip,
    Concat(Concat),
    Constant(Tensor),
    Conv(Conv),
    ConvInteger(Conv),
    ConvTranspose(ConvTranspose),
    DequantizeLinear(DequantizeLinear),
    GlobalAveragePool,
    HardSwish,
    Identity,
    LeakyRelu(LeakyRelu),
    MaxPool(MaxPool),
    Mul,
    QLinearConv(Conv),
    QuantizeLinear(QuantizeLinear),
    Relu,
    Sigmoid,
    Transpose(Transpose),
}

impl Op {
    /// ONNX's name for the operator.
    pub const fn op_type(&self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::AveragePool(_) => "AveragePool",
            Self::BatchNormalization(_) => "BatchNormalization",
            Self::Clip => "Clip",
            Self::Concat(_) => "Concat",
            Self::Constant(_) => "Constant",
            Self::Conv(_) => "Conv",
            Self::ConvInteger(_) => "ConvInteger",
            Self::ConvTranspose(_) => "ConvTranspose",
            Self::DequantizeLinear(_) => "DequantizeLinear",
            Self::GlobalAveragePool => "GlobalAveragePool",
            Self::HardSwish => "HardSwish",
            Self::Identity => "Identity",
            Self::LeakyRelu(_) => "LeakyRelu",
            Self::MaxPool(_) => "MaxPool",
            Self::Mul => "Mul",
            Self::QLinearConv(_) => "QLinearConv",
            Self::QuantizeLinear(_) => "QuantizeLinear",
            Self::Relu => "Relu",
            Self::Sigmoid => "Sigmoid",
            Self::Transpose(_) => "Transpose",
        }
    }
}

/// How a convolution's padding is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AutoPad {
    /// By the attribute `pads`.
    #[serde(rename = "NOTSET")]
    NotSet,
    /// So that the output keeps the strided extent; an odd rest goes to the end.
    SameUpper,
    /// So that the output keeps the strided extent; an odd rest goes to the start.
    SameLower,
    /// None.
    Valid,
}

impl AutoPad {
    /// Every value.
    pub const ALL: [Self; 4] = [Self::NotSet, Self::SameUpper, Self::SameLower, Self::Valid];

    /// Whether the output keeps the strided extent: `SAME_UPPER` or `SAME_LOWER`.
    pub const fn is_same(self) -> bool {
        matches!(self, Self::SameUpper | Self::SameLower)
    }

    /// ONNX's name for the value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotSet => "NOTSET",
            Self::SameUpper => "SAME_UPPER",
            Self::SameLower => "SAME_LOWER",
            Self::Valid => "VALID",
        }
    }
}

/// Attributes of ONNX `Conv`, and of `ConvInteger` and `QLinearConv`, which have the same.
///
/// Inputs of `Conv`: X `[N, C, d…]`, W `[M, C/group, k…]`, optional B `[M]`. Of `ConvInteger`: x, w, optional
/// `x_zero_point`, one value, and `w_zero_point`, one or `[M]`. Of `QLinearConv`: x, `x_scale`, `x_zero_point`, w,
/// `w_scale`, `w_zero_point`, `y_scale`, `y_zero_point`, optional B; scale and zero point of w are one value or `[M]`, all
/// others one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct Conv {
    pub auto_pad: Option<AutoPad>,
    pub dilations: Option<Vec<i64>>,
    pub group: Option<i64>,
    pub kernel_shape: Option<Vec<i64>>,
    pub pads: Option<Vec<i64>>,
    pub strides: Option<Vec<i64>>,
}

/// Attributes of ONNX `ConvTranspose`. Inputs: X `[N, C, d…]`, W `[C, M/group, k…]`, optional B `[M]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct ConvTranspose {
    pub auto_pad: Option<AutoPad>,
    pub dilations: Option<Vec<i64>>,
    pub group: Option<i64>,
    pub kernel_shape: Option<Vec<i64>>,
    pub output_padding: Option<Vec<i64>>,
    pub output_shape: Option<Vec<i64>>,
    pub pads: Option<Vec<i64>>,
    pub strides: Option<Vec<i64>>,
}

/// Attributes of ONNX `BatchNormalization` in inference mode.
/// Inputs: X `[N, C, d…]`, scale, B, mean, var, each `[C]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct BatchNormalization {
    #[serde(default, with = "numbers::optional")]
    pub epsilon: Option<f32>,
    #[serde(default, with = "numbers::optional")]
    pub momentum: Option<f32>,
    pub training_mode: Option<i64>,
}

/// Attributes of ONNX `Concat`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct Concat {
    pub axis: i64,
}

/// Attributes of ONNX `MaxPool` with one output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct MaxPool {
    pub auto_pad: Option<AutoPad>,
    pub ceil_mode: Option<i64>,
    pub dilations: Option<Vec<i64>>,
    pub kernel_shape: Vec<i64>,
    pub pads: Option<Vec<i64>>,
    pub storage_order: Option<i64>,
    pub strides: Option<Vec<i64>>,
}

/// Attributes of ONNX `AveragePool`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct AveragePool {
    pub auto_pad: Option<AutoPad>,
    pub ceil_mode: Option<i64>,
    pub count_include_pad: Option<i64>,
    pub dilations: Option<Vec<i64>>,
    pub kernel_shape: Vec<i64>,
    pub pads: Option<Vec<i64>>,
    pub strides: Option<Vec<i64>>,
}

/// Attributes of ONNX `LeakyRelu`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct LeakyRelu {
    #[serde(default, with = "numbers::optional")]
    pub alpha: Option<f32>,
}

/// Attributes of ONNX `Transpose`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct Transpose {
    pub perm: Option<Vec<i64>>,
}

/// Attributes of ONNX `QuantizeLinear`. Inputs: x, `y_scale`, optional `y_zero_point`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct QuantizeLinear {
    pub axis: Option<i64>,
}

/// Attributes of ONNX `DequantizeLinear`. Inputs: x, `x_scale`, optional `x_zero_point`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name")]
pub struct DequantizeLinear {
    pub axis: Option<i64>,
}
