//! Tensors of twinfer as values of rten, and back.
//!
//! rten holds `INT64` and `BOOL` as 32-bit integers and `DOUBLE` and `FLOAT16` as 32-bit floats. Its documentation says so of
//! integers, which are converted here, and of `DOUBLE`. Results in other floats than the model's could not be compared.

use rten::{Value, ValueType};
use rten_tensor::Layout;
use twinfer_onnx::{DataType, Tensor, TensorData};

use crate::refusal::Refusal;

/// Whether rten computes with values of this type, and not with others in their place.
pub fn check(dtype: DataType) -> Result<(), Refusal> {
    match dtype {
        DataType::Float16 | DataType::Bfloat16 | DataType::Double => {
            Err(Refusal::new("element type", format!("rten has no {dtype}")))
        }
        _ => Ok(()),
    }
}

pub fn to_value(tensor: &Tensor) -> Result<Value, Refusal> {
    let shape = &tensor.shape;
    match &tensor.data {
        TensorData::Float(data) => value(shape, data.clone()),
        TensorData::Int8(data) => value(shape, data.clone()),
        TensorData::Uint8(data) => value(shape, data.clone()),
        TensorData::Int32(data) => value(shape, data.clone()),
        TensorData::Int64(data) => value(shape, narrowed(data)?),
        TensorData::Bool(data) => value(shape, data.iter().map(|bit| i32::from(*bit)).collect()),
        _ => Err(Refusal::new("element type", format!("rten has no {}", tensor.dtype()))),
    }
}

fn value<T>(shape: &[usize], data: Vec<T>) -> Result<Value, Refusal>
where
    Value: From<rten_tensor::Tensor<T>>,
{
    Value::from_shape(shape, data).map_err(|error| Refusal::new("input shape", error))
}

fn narrowed(data: &[i64]) -> Result<Vec<i32>, Refusal> {
    let narrow = |element: &i64| i32::try_from(*element).ok();
    data.iter().map(narrow).collect::<Option<_>>().ok_or_else(|| {
        Refusal::new("element type", "rten has no INT64, and an element of an input is beyond 32 bits")
    })
}

/// The tensor with the element type that the model declares, if rten held it as 32-bit integers.
pub fn from_value(value: Value, declared: Option<DataType>) -> Result<Tensor, Refusal> {
    let (shape, data) = match value {
        Value::FloatTensor(tensor) => (tensor.shape().to_vec(), TensorData::Float(tensor.into_data())),
        Value::Int8Tensor(tensor) => (tensor.shape().to_vec(), TensorData::Int8(tensor.into_data())),
        Value::UInt8Tensor(tensor) => (tensor.shape().to_vec(), TensorData::Uint8(tensor.into_data())),
        Value::Int32Tensor(tensor) => (tensor.shape().to_vec(), integers(tensor.into_data(), declared)),
        other => return Err(no_tensor(other.dtype())),
    };
    Tensor::new(shape, data).map_err(|error| Refusal::new("output", error))
}

fn integers(data: Vec<i32>, declared: Option<DataType>) -> TensorData {
    match declared {
        Some(DataType::Int64) => TensorData::Int64(data.into_iter().map(i64::from).collect()),
        Some(DataType::Bool) => TensorData::Bool(data.into_iter().map(|element| element != 0).collect()),
        _ => TensorData::Int32(data),
    }
}

fn no_tensor(found: ValueType) -> Refusal {
    Refusal::new("output", format!("{found} is no tensor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(data: TensorData) -> Tensor {
        Tensor::new(vec![2, 1], data).unwrap()
    }

    fn returned(tensor: &Tensor) -> Tensor {
        from_value(to_value(tensor).unwrap(), Some(tensor.dtype())).unwrap()
    }

    #[test]
    fn tensors_come_back_as_they_were() {
        let all = [
            TensorData::Float(vec![-0.0, f32::INFINITY]),
            TensorData::Int8(vec![-128, 127]),
            TensorData::Uint8(vec![0, 255]),
            TensorData::Int32(vec![i32::MIN, i32::MAX]),
            TensorData::Int64(vec![-1, i64::from(i32::MAX)]),
            TensorData::Bool(vec![true, false]),
        ];
        for tensor in all.map(tensor) {
            assert_eq!(returned(&tensor), tensor);
        }
    }

    #[test]
    fn input_beyond_32_bits_is_refused() {
        assert!(to_value(&tensor(TensorData::Int64(vec![0, 1 << 31]))).is_err());
    }

    #[test]
    fn floats_that_rten_widens_are_refused() {
        assert!(check(DataType::Float16).is_err() && check(DataType::Double).is_err());
        assert!(check(DataType::Float).is_ok() && check(DataType::Int64).is_ok());
    }
}
