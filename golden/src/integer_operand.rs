use std::borrow::Cow;

use crate::{
    quantization::{IntegerConversion, Parameters, ScaleChoice},
    value::Value,
};

/// An operand of a convolution as integers, and what they stand for.
pub struct Integers<'a> {
    pub value: Cow<'a, Value>,
    pub scale: Cow<'a, Value>,
    pub zero_point: Option<Cow<'a, Value>>,
    /// The axis along which the scales differ, if there are several.
    pub axis: usize,
}

impl Integers<'_> {
    /// What dequantizes them.
    pub fn parameters(&self) -> Parameters<'_> {
        Parameters {
            scale: &self.scale,
            zero_point: self.zero_point.as_deref(),
            axis: self.axis,
            choice: ScaleChoice::Own,
            conversion: IntegerConversion::ONNX,
        }
    }
}
