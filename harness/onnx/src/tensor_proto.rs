use half::{bf16, f16};
use prost::Message;

use crate::{
    DataType, Tensor, TensorData,
    decode_error::{DecodeError, MAX_MODEL_BYTES, Unsupported},
    proto::TensorProto,
};

/// The `TensorProto` of a tensor.
pub fn encoded(name: &str, tensor: &Tensor) -> TensorProto {
    TensorProto {
        dims: tensor.shape.iter().map(|extent| *extent as i64).collect(),
        data_type: tensor.dtype().onnx_code(),
        name: name.to_owned(),
        raw_data: Some(tensor.to_le_bytes()),
        ..TensorProto::default()
    }
}

pub fn extent(name: &str, value: i64) -> Result<usize, DecodeError> {
    usize::try_from(value).map_err(|_| DecodeError::NegativeExtent(name.to_owned()))
}

pub fn element_type(name: &str, code: i32) -> Result<DataType, DecodeError> {
    DataType::from_onnx_code(code)
        .ok_or_else(|| Unsupported::ElementType { name: name.to_owned(), code }.into())
}

pub fn tensor(proto: TensorProto) -> Result<Tensor, DecodeError> {
    if proto.data_location != 0 {
        return Err(Unsupported::ExternalData(proto.name).into());
    }
    let dtype = element_type(&proto.name, proto.data_type)?;
    let shape = proto
        .dims
        .iter()
        .map(|value| extent(&proto.name, *value))
        .collect::<Result<Vec<_>, DecodeError>>()?;
    let tensor = match &proto.raw_data {
        Some(bytes) => Tensor::from_le_bytes(dtype, shape, bytes),
        None => Tensor::new(shape, typed_data(dtype, &proto)),
    };
    tensor.map_err(|reason| DecodeError::Initializer { name: proto.name, reason })
}

/// The elements in the field that onnx.proto assigns to `dtype`; those narrower than 32 bits are in `int32_data`.
fn typed_data(dtype: DataType, proto: &TensorProto) -> TensorData {
    let narrow = proto.int32_data.iter();
    match dtype {
        DataType::Float => TensorData::Float(proto.float_data.clone()),
        DataType::Double => TensorData::Double(proto.double_data.clone()),
        DataType::Int64 => TensorData::Int64(proto.int64_data.clone()),
        DataType::Int32 => TensorData::Int32(proto.int32_data.clone()),
        DataType::Int8 => TensorData::Int8(narrow.map(|x| *x as i8).collect()),
        DataType::Uint8 => TensorData::Uint8(narrow.map(|x| *x as u8).collect()),
        DataType::Bool => TensorData::Bool(narrow.map(|x| *x != 0).collect()),
        DataType::Float16 => TensorData::Float16(narrow.map(|x| f16::from_bits(*x as u16)).collect()),
        DataType::Bfloat16 => TensorData::Bfloat16(narrow.map(|x| bf16::from_bits(*x as u16)).collect()),
    }
}

impl Tensor {
    /// The tensor of a serialized `TensorProto`: what the data files of ONNX's backend tests hold.
    pub fn decode_proto(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode_named_proto(bytes).map(|(_, tensor)| tensor)
    }

    /// As [`decode_proto`](Self::decode_proto), with the name that the `TensorProto` gives the tensor, which may be empty.
    pub fn decode_named_proto(bytes: &[u8]) -> Result<(String, Self), DecodeError> {
        if bytes.len() > MAX_MODEL_BYTES {
            return Err(DecodeError::TooLarge(bytes.len()));
        }
        let proto = TensorProto::decode(bytes)?;
        Ok((proto.name.clone(), tensor(proto)?))
    }

    /// The serialized `TensorProto` of this tensor, named `name`.
    pub fn encode_proto(&self, name: &str) -> Vec<u8> {
        encoded(name, self).encode_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_from_the_field_of_their_type() {
        let read = |proto: TensorProto| tensor(TensorProto { dims: vec![1], ..proto }).expect("one element");
        let narrow = |data_type, bits| {
            read(TensorProto { data_type, int32_data: vec![bits], ..Default::default() }).data
        };
        assert_eq!(narrow(10, 0x3800), TensorData::Float16(vec![f16::from_f32(0.5)]));
        assert_eq!(narrow(16, 0x3f00), TensorData::Bfloat16(vec![bf16::from_f32(0.5)]));
        assert_eq!(narrow(3, -3), TensorData::Int8(vec![-3]));
        assert_eq!(narrow(2, 200), TensorData::Uint8(vec![200]));
        assert_eq!(narrow(9, 1), TensorData::Bool(vec![true]));
        let wide = TensorProto { data_type: 7, int64_data: vec![1 << 40], ..Default::default() };
        assert_eq!(read(wide).data, TensorData::Int64(vec![1 << 40]));
        let double = TensorProto { data_type: 11, double_data: vec![0.1], ..Default::default() };
        assert_eq!(read(double).data, TensorData::Double(vec![0.1]));
    }

    #[test]
    fn a_tensor_of_a_huge_or_negative_shape_is_refused() {
        let refused = |dims| tensor(TensorProto { dims, data_type: 1, ..Default::default() });
        assert!(matches!(refused(vec![1 << 40]), Err(DecodeError::Initializer { .. })));
        assert!(matches!(refused(vec![i64::MAX, i64::MAX]), Err(DecodeError::Initializer { .. })));
        assert!(matches!(refused(vec![-1]), Err(DecodeError::NegativeExtent(_))));
    }
}
