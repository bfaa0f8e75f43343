//! Tensors in ONNX Runtime's terms.

use ort::{
    session::SessionInputValue,
    value::{DynValue, PrimitiveTensorElementType, TensorElementType, TensorRef, Value},
};
use twinfer_case::OutputFilling;
use twinfer_onnx::{DataType, Tensor, TensorData};

/// Evaluates an expression with the elements of any tensor.
macro_rules! each_type {
    ($data:expr, $elements:ident => $body:expr) => {
        match $data {
            TensorData::Float($elements) => $body,
            TensorData::Float16($elements) => $body,
            TensorData::Bfloat16($elements) => $body,
            TensorData::Double($elements) => $body,
            TensorData::Int8($elements) => $body,
            TensorData::Uint8($elements) => $body,
            TensorData::Int32($elements) => $body,
            TensorData::Int64($elements) => $body,
            TensorData::Bool($elements) => $body,
            _ => return Err(ort::Error::new("an element type that ONNX Runtime is not fed with")),
        }
    };
}

/// `tensor` as an input, without copying it.
pub fn input(tensor: &Tensor) -> ort::Result<SessionInputValue<'_>> {
    let shape = tensor.shape.as_slice();
    each_type!(&tensor.data, elements => {
        TensorRef::from_array_view((shape, elements.as_slice())).map(SessionInputValue::from)
    })
}

/// A filled buffer for an output of this type and shape; `None` for types that are not read back.
pub fn output(
    dtype: TensorElementType,
    shape: Vec<usize>,
    filling: OutputFilling,
) -> Option<ort::Result<DynValue>> {
    let buffer = filling.buffer(data_type(dtype)?, shape)?;
    Some(owned(buffer))
}

fn owned(tensor: Tensor) -> ort::Result<DynValue> {
    let shape = tensor.shape;
    each_type!(tensor.data, elements => Value::from_array((shape, elements)).map(Value::into_dyn))
}

/// The elements of an output.
pub fn tensor(value: &DynValue) -> ort::Result<Tensor> {
    let (Some(dtype), Some(shape)) = (value.dtype().tensor_type(), value.dtype().tensor_shape()) else {
        return Err(ort::Error::new("an output is no tensor"));
    };
    let extents = shape.iter().map(|extent| usize::try_from(*extent).unwrap_or(0)).collect();
    let data = match dtype {
        TensorElementType::Float32 => TensorData::Float(elements(value)?),
        TensorElementType::Float16 => TensorData::Float16(elements(value)?),
        TensorElementType::Bfloat16 => TensorData::Bfloat16(elements(value)?),
        TensorElementType::Float64 => TensorData::Double(elements(value)?),
        TensorElementType::Int8 => TensorData::Int8(elements(value)?),
        TensorElementType::Uint8 => TensorData::Uint8(elements(value)?),
        TensorElementType::Int32 => TensorData::Int32(elements(value)?),
        TensorElementType::Int64 => TensorData::Int64(elements(value)?),
        TensorElementType::Bool => TensorData::Bool(elements(value)?),
        other => return Err(ort::Error::new(format!("an output has the element type {other}"))),
    };
    Tensor::new(extents, data).map_err(|error| ort::Error::new(error.to_string()))
}

fn elements<T: PrimitiveTensorElementType + Copy>(value: &DynValue) -> ort::Result<Vec<T>> {
    value.try_extract_tensor::<T>().map(|(_, elements)| elements.to_vec())
}

const fn data_type(dtype: TensorElementType) -> Option<DataType> {
    Some(match dtype {
        TensorElementType::Float32 => DataType::Float,
        TensorElementType::Float16 => DataType::Float16,
        TensorElementType::Bfloat16 => DataType::Bfloat16,
        TensorElementType::Float64 => DataType::Double,
        TensorElementType::Int8 => DataType::Int8,
        TensorElementType::Uint8 => DataType::Uint8,
        TensorElementType::Int32 => DataType::Int32,
        TensorElementType::Int64 => DataType::Int64,
        _ => return None,
    })
}
