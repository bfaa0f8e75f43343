use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::{DataType, numbers};

/// A dense tensor in row-major order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Tensor {
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// As many elements as the product of `shape`.
    pub data: TensorData,
}

/// The elements of a [`Tensor`], by type.
///
/// Written as numbers where a person can read them; NaN (with its bits), infinities and nothing else as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is the DataType of the same name")]
pub enum TensorData {
    #[serde(with = "numbers")]
    Float(Vec<f32>),
    #[serde(with = "numbers")]
    Float16(Vec<f16>),
    #[serde(with = "numbers")]
    Bfloat16(Vec<bf16>),
    #[serde(with = "numbers")]
    Double(Vec<f64>),
    Int8(Vec<i8>),
    Uint8(Vec<u8>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Bool(Vec<bool>),
}

/// Elements that do not make a tensor of the shape and type asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTensor {
    /// The product of the extents does not fit the address space.
    #[error("shape {0:?} has too many elements")]
    Overflow(Vec<usize>),
    /// More or fewer elements than the shape holds.
    #[error("shape {shape:?} holds {expected} elements, not {found}")]
    Elements {
        /// The extents.
        shape: Vec<usize>,
        /// Their product.
        expected: usize,
        /// The elements that were given.
        found: usize,
    },
    /// More or fewer bytes than the shape and type hold.
    #[error("shape {shape:?} of {dtype} holds {expected} bytes, not {found}")]
    Bytes {
        /// The extents.
        shape: Vec<usize>,
        /// The element type.
        dtype: DataType,
        /// Bytes that the shape and type hold.
        expected: usize,
        /// The bytes that were given.
        found: usize,
    },
}

/// The number of elements of a tensor of these extents: 1 for a scalar, `None` where it does not fit.
pub fn element_count(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |count, extent| count.checked_mul(*extent))
}

/// The product of the extents with every zero taken for one: what loops over the axes of even an empty tensor are bounded
/// by. `None` where it does not fit.
pub fn volume(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |volume, extent| volume.checked_mul((*extent).max(1)))
}

/// The indices, one per axis, of the element at `place` in row-major order.
///
/// ```
/// assert_eq!(twinfer_onnx::position(&[2, 3], 4), [1, 1]);
/// ```
pub fn position(shape: &[usize], mut place: usize) -> Vec<usize> {
    let mut position = vec![0; shape.len()];
    for (index, extent) in position.iter_mut().zip(shape).rev() {
        *index = place % extent.max(&1);
        place /= extent.max(&1);
    }
    position
}

/// Evaluates an expression with the element vector of any [`TensorData`] bound to a name.
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
        }
    };
}

impl Tensor {
    /// A tensor of these extents and elements.
    pub fn new(shape: Vec<usize>, data: TensorData) -> Result<Self, InvalidTensor> {
        let Some(expected) = element_count(&shape) else {
            return Err(InvalidTensor::Overflow(shape));
        };
        let found = data.len();
        if expected == found {
            Ok(Self { shape, data })
        } else {
            Err(InvalidTensor::Elements { shape, expected, found })
        }
    }

    /// The element type.
    pub const fn dtype(&self) -> DataType {
        self.data.dtype()
    }

    /// The number of elements.
    pub const fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether an extent is zero.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes its elements take.
    pub const fn byte_len(&self) -> usize {
        self.len() * self.dtype().size()
    }

    /// The elements in row-major order, little-endian: the layout of ONNX `raw_data`.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.byte_len());
        self.append_le_bytes(&mut bytes);
        bytes
    }

    /// Appends what [`to_le_bytes`](Self::to_le_bytes) returns.
    pub fn append_le_bytes(&self, bytes: &mut Vec<u8>) {
        match &self.data {
            TensorData::Float(elements) => append(bytes, elements, f32::to_le_bytes),
            TensorData::Float16(elements) => append(bytes, elements, f16::to_le_bytes),
            TensorData::Bfloat16(elements) => append(bytes, elements, bf16::to_le_bytes),
            TensorData::Double(elements) => append(bytes, elements, f64::to_le_bytes),
            TensorData::Int8(elements) => append(bytes, elements, i8::to_le_bytes),
            TensorData::Uint8(elements) => bytes.extend_from_slice(elements),
            TensorData::Int32(elements) => append(bytes, elements, i32::to_le_bytes),
            TensorData::Int64(elements) => append(bytes, elements, i64::to_le_bytes),
            TensorData::Bool(elements) => append(bytes, elements, |x| [u8::from(x)]),
        }
    }

    /// The tensor whose elements are `bytes`, laid out as [`to_le_bytes`](Self::to_le_bytes) does; any byte but
    /// zero is a true `Bool`.
    ///
    /// Allocates no more than `bytes` holds, whatever `shape` says.
    pub fn from_le_bytes(dtype: DataType, shape: Vec<usize>, bytes: &[u8]) -> Result<Self, InvalidTensor> {
        let Some(expected) = element_count(&shape).and_then(|count| count.checked_mul(dtype.size())) else {
            return Err(InvalidTensor::Overflow(shape));
        };
        if bytes.len() != expected {
            return Err(InvalidTensor::Bytes { shape, dtype, expected, found: bytes.len() });
        }
        let data = match dtype {
            DataType::Float => TensorData::Float(parse(bytes, f32::from_le_bytes)),
            DataType::Float16 => TensorData::Float16(parse(bytes, f16::from_le_bytes)),
            DataType::Bfloat16 => TensorData::Bfloat16(parse(bytes, bf16::from_le_bytes)),
            DataType::Double => TensorData::Double(parse(bytes, f64::from_le_bytes)),
            DataType::Int8 => TensorData::Int8(parse(bytes, i8::from_le_bytes)),
            DataType::Uint8 => TensorData::Uint8(bytes.to_vec()),
            DataType::Int32 => TensorData::Int32(parse(bytes, i32::from_le_bytes)),
            DataType::Int64 => TensorData::Int64(parse(bytes, i64::from_le_bytes)),
            DataType::Bool => TensorData::Bool(parse(bytes, |[byte]| byte != 0)),
        };
        Ok(Self { shape, data })
    }

    /// The elements as f64: exact for every type but `Int64` beyond 2^53.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            TensorData::Float(elements) => elements.iter().map(|x| f64::from(*x)).collect(),
            TensorData::Float16(elements) => elements.iter().map(|x| x.to_f64()).collect(),
            TensorData::Bfloat16(elements) => elements.iter().map(|x| x.to_f64()).collect(),
            TensorData::Double(elements) => elements.clone(),
            TensorData::Int8(elements) => elements.iter().map(|x| f64::from(*x)).collect(),
            TensorData::Uint8(elements) => elements.iter().map(|x| f64::from(*x)).collect(),
            TensorData::Int32(elements) => elements.iter().map(|x| f64::from(*x)).collect(),
            TensorData::Int64(elements) => elements.iter().map(|x| *x as f64).collect(),
            TensorData::Bool(elements) => elements.iter().map(|x| f64::from(u8::from(*x))).collect(),
        }
    }

    /// The first `most` elements in the fewest digits that give them back; a `Bool` as 0 or 1.
    pub(crate) fn element_texts(&self, most: usize) -> Vec<String> {
        match &self.data {
            TensorData::Bool(elements) => {
                elements.iter().take(most).map(|x| u8::from(*x).to_string()).collect()
            }
            data => {
                each_type!(data, elements => elements.iter().take(most).map(|x| format!("{x:?}")).collect())
            }
        }
    }

    /// The tensor of `values` rounded to nearest even; integer types saturate and take NaN for zero, as Rust's
    /// casts do.
    pub fn from_f64(dtype: DataType, shape: Vec<usize>, values: &[f64]) -> Result<Self, InvalidTensor> {
        let data = match dtype {
            DataType::Float => TensorData::Float(values.iter().map(|x| *x as f32).collect()),
            DataType::Float16 => TensorData::Float16(values.iter().map(|x| f16::from_f64(*x)).collect()),
            DataType::Bfloat16 => TensorData::Bfloat16(values.iter().map(|x| bf16::from_f64(*x)).collect()),
            DataType::Double => TensorData::Double(values.to_vec()),
            DataType::Int8 => TensorData::Int8(values.iter().map(|x| x.round_ties_even() as i8).collect()),
            DataType::Uint8 => TensorData::Uint8(values.iter().map(|x| x.round_ties_even() as u8).collect()),
            DataType::Int32 => TensorData::Int32(values.iter().map(|x| x.round_ties_even() as i32).collect()),
            DataType::Int64 => TensorData::Int64(values.iter().map(|x| x.round_ties_even() as i64).collect()),
            DataType::Bool => TensorData::Bool(values.iter().map(|x| *x != 0.0).collect()),
        };
        Self::new(shape, data)
    }
}

impl TensorData {
    /// The element type.
    pub const fn dtype(&self) -> DataType {
        match self {
            Self::Float(_) => DataType::Float,
            Self::Float16(_) => DataType::Float16,
            Self::Bfloat16(_) => DataType::Bfloat16,
            Self::Double(_) => DataType::Double,
            Self::Int8(_) => DataType::Int8,
            Self::Uint8(_) => DataType::Uint8,
            Self::Int32(_) => DataType::Int32,
            Self::Int64(_) => DataType::Int64,
            Self::Bool(_) => DataType::Bool,
        }
    }

    /// The number of elements.
    pub const fn len(&self) -> usize {
        each_type!(self, elements => elements.len())
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn append<T: Copy, const SIZE: usize>(bytes: &mut Vec<u8>, elements: &[T], encode: impl Fn(T) -> [u8; SIZE]) {
    let start = bytes.len();
    bytes.resize(start + elements.len() * SIZE, 0);
    for (chunk, element) in bytes[start..].as_chunks_mut().0.iter_mut().zip(elements) {
        *chunk = encode(*element);
    }
}

fn parse<T, const SIZE: usize>(bytes: &[u8], decode: impl Fn([u8; SIZE]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|chunk| decode(*chunk)).collect()
}

/// A tensor before its shape and elements are known to agree.
#[derive(Deserialize)]
struct Parts {
    shape: Vec<usize>,
    data: TensorData,
}

impl TryFrom<Parts> for Tensor {
    type Error = InvalidTensor;

    fn try_from(parts: Parts) -> Result<Self, InvalidTensor> {
        Self::new(parts.shape, parts.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_beyond_the_bytes_is_refused_without_allocating() {
        let refused = Tensor::from_le_bytes(DataType::Float, vec![1 << 40], &[0; 8]);
        assert!(matches!(refused, Err(InvalidTensor::Bytes { found: 8, .. })));
        let refused = Tensor::from_le_bytes(DataType::Float, vec![usize::MAX, 2], &[]);
        assert_eq!(refused, Err(InvalidTensor::Overflow(vec![usize::MAX, 2])));
    }

    #[test]
    fn a_zero_extent_makes_any_shape_empty() {
        assert_eq!(element_count(&[usize::MAX, 2, 0]), Some(0));
    }

    #[test]
    fn nan_payloads_infinities_and_signed_zeros_survive_json() {
        let bits = [0x7fc0_0001, 0xff80_0000, 0x7f80_0000, 0x8000_0000, 0x3eaa_aaab, 0xffff_ffff];
        let floats = bits.into_iter().map(f32::from_bits).collect();
        let tensor = Tensor::new(vec![6], TensorData::Float(floats)).expect("six elements");
        let text = serde_json::to_string(&tensor).expect("serializes");
        let back: Tensor = serde_json::from_str(&text).expect("parses");
        assert_eq!(back.to_le_bytes(), tensor.to_le_bytes(), "{text}");
    }

    #[test]
    fn json_whose_shape_and_elements_disagree_is_refused() {
        let refused = serde_json::from_str::<Tensor>(r#"{"shape":[3],"data":{"INT8":[1,2]}}"#);
        assert!(refused.is_err());
    }
}
