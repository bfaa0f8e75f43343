use twinfer_onnx::{DataType, Tensor, TensorData, element_count};

/// A tensor of bytes that computed elements are unlikely to hold. Output buffers are filled with it before a run, so that
/// elements that were never written can be recognized.
///
/// Floating-point elements become a NaN with all bits set, integers a byte pattern of `0xA5`, booleans false.
/// `None` if the shape is beyond the address space.
pub fn poisoned(dtype: DataType, shape: Vec<usize>) -> Option<Tensor> {
    let count = element_count(&shape)?;
    let data = match dtype {
        DataType::Float => TensorData::Float(vec![f32::from_bits(u32::MAX); count]),
        DataType::Float16 => TensorData::Float16(vec![half::f16::from_bits(u16::MAX); count]),
        DataType::Bfloat16 => TensorData::Bfloat16(vec![half::bf16::from_bits(u16::MAX); count]),
        DataType::Double => TensorData::Double(vec![f64::from_bits(u64::MAX); count]),
        DataType::Int8 => TensorData::Int8(vec![i8::from_le_bytes([INTEGER_BYTE]); count]),
        DataType::Uint8 => TensorData::Uint8(vec![INTEGER_BYTE; count]),
        DataType::Int32 => TensorData::Int32(vec![i32::from_le_bytes([INTEGER_BYTE; 4]); count]),
        DataType::Int64 => TensorData::Int64(vec![i64::from_le_bytes([INTEGER_BYTE; 8]); count]),
        _ => return None,
    };
    Some(Tensor { shape, data })
}

/// Whether the element at `index` is one that [`poisoned`] fills a buffer with.
pub fn is_poison(tensor: &Tensor, index: usize) -> bool {
    match &tensor.data {
        TensorData::Float(elements) => elements.get(index).is_some_and(|x| x.to_bits() == u32::MAX),
        TensorData::Float16(elements) => elements.get(index).is_some_and(|x| x.to_bits() == u16::MAX),
        TensorData::Bfloat16(elements) => elements.get(index).is_some_and(|x| x.to_bits() == u16::MAX),
        TensorData::Double(elements) => elements.get(index).is_some_and(|x| x.to_bits() == u64::MAX),
        TensorData::Int8(elements) => elements.get(index).is_some_and(|x| x.to_le_bytes() == [INTEGER_BYTE]),
        TensorData::Uint8(elements) => elements.get(index) == Some(&INTEGER_BYTE),
        TensorData::Int32(elements) => elements.get(index) == Some(&i32::from_le_bytes([INTEGER_BYTE; 4])),
        TensorData::Int64(elements) => elements.get(index) == Some(&i64::from_le_bytes([INTEGER_BYTE; 8])),
        _ => false,
    }
}

const INTEGER_BYTE: u8 = 0xa5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elements_that_were_not_written_are_poison() {
        for dtype in [DataType::Float, DataType::Float16, DataType::Bfloat16, DataType::Double]
            .into_iter()
            .chain([DataType::Int8, DataType::Uint8, DataType::Int32, DataType::Int64])
        {
            let buffer = poisoned(dtype, vec![2, 2]).unwrap();
            assert!((0..4).all(|index| is_poison(&buffer, index)), "{dtype:?}");
            assert!(!is_poison(&buffer, 4));
            let written = Tensor::from_f64(dtype, vec![1], &[1.0]).unwrap();
            assert!(!is_poison(&written, 0), "{dtype:?}");
        }
    }
}
