//! The *filling* of memory before a run, by which elements that were never written show.

use serde::{Deserialize, Serialize};
use twinfer_onnx::{DataType, Tensor, TensorData, element_count};

use crate::PoisonPattern;

/// What a worker fills memory with before each run of a case, as far as it was asked to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filling {
    /// What output buffers hold; `None` if the worker was not asked to fill them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<OutputFilling>,
    /// The two bytes that memory for values inside the graph holds, again and again; `None` if it is left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch: Option<[u8; 2]>,
}

/// Memory that a worker can fill before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fillable {
    /// The buffers that the graph's outputs are written to.
    Outputs,
    /// Memory for values inside the graph.
    Scratch,
}

impl Filling {
    /// What to ask a worker for that can fill the memory in `fillable`, and whose memory is to hold `pattern` where nothing was written.
    ///
    /// Output buffers are filled whatever the pattern, with [`OutputFilling::SECOND`] beside [`PoisonPattern::Large`].
    pub fn of(fillable: &[Fillable], pattern: Option<PoisonPattern>) -> Self {
        let outputs = match pattern {
            Some(PoisonPattern::Large) => OutputFilling::SECOND,
            Some(PoisonPattern::Nan) | None => OutputFilling::FIRST,
        };
        Self {
            outputs: fillable.contains(&Fillable::Outputs).then_some(outputs),
            scratch: pattern.filter(|_| fillable.contains(&Fillable::Scratch)).map(PoisonPattern::bytes),
        }
    }

    /// Whether nothing is filled.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The byte that output buffers hold before a run, by the type of their elements: one that computed elements are unlikely to consist of.
///
/// There are two fillings, because an element that was not written holds the byte of either, and one that was computed does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFilling {
    /// The byte in floating-point elements.
    pub floats: u8,
    /// The byte in integers.
    pub integers: u8,
}

impl OutputFilling {
    /// A NaN with all bits set. The filling of every run but those of [`SECOND`](Self::SECOND).
    pub const FIRST: Self = Self { floats: 0xff, integers: 0xa5 };
    /// A large finite number, of other bytes than those of [`PoisonPattern::Large`].
    pub const SECOND: Self = Self { floats: 0x7a, integers: 0x5a };

    /// A tensor for an output of this type and shape, with nothing written to it. `None` for other types than numbers, and if the
    /// shape is beyond the address space.
    pub fn buffer(self, dtype: DataType, shape: Vec<usize>) -> Option<Tensor> {
        let count = element_count(&shape)?;
        let Self { floats, integers } = self;
        let data = match dtype {
            DataType::Float => TensorData::Float(vec![f32::from_le_bytes([floats; 4]); count]),
            DataType::Float16 => TensorData::Float16(vec![half::f16::from_le_bytes([floats; 2]); count]),
            DataType::Bfloat16 => TensorData::Bfloat16(vec![half::bf16::from_le_bytes([floats; 2]); count]),
            DataType::Double => TensorData::Double(vec![f64::from_le_bytes([floats; 8]); count]),
            DataType::Int8 => TensorData::Int8(vec![i8::from_le_bytes([integers]); count]),
            DataType::Uint8 => TensorData::Uint8(vec![integers; count]),
            DataType::Int32 => TensorData::Int32(vec![i32::from_le_bytes([integers; 4]); count]),
            DataType::Int64 => TensorData::Int64(vec![i64::from_le_bytes([integers; 8]); count]),
            _ => return None,
        };
        Some(Tensor { shape, data })
    }

    /// Whether the element at `index` holds what a [`buffer`](Self::buffer) does.
    pub fn is_left_in(self, tensor: &Tensor, index: usize) -> bool {
        let Self { floats, integers } = self;
        match &tensor.data {
            TensorData::Float(elements) => is(elements.get(index).map(|x| x.to_le_bytes()), floats),
            TensorData::Float16(elements) => is(elements.get(index).map(|x| x.to_le_bytes()), floats),
            TensorData::Bfloat16(elements) => is(elements.get(index).map(|x| x.to_le_bytes()), floats),
            TensorData::Double(elements) => is(elements.get(index).map(|x| x.to_le_bytes()), floats),
            TensorData::Int8(elements) => is(elements.get(index).map(|x| x.to_le_bytes()), integers),
            TensorData::Uint8(elements) => is(elements.get(index).map(|x| x.to_le_bytes()), integers),
            TensorData::Int32(elements) => is(elements.get(index).map(|x| x.to_le_bytes()), integers),
            TensorData::Int64(elements) => is(elements.get(index).map(|x| x.to_le_bytes()), integers),
            _ => false,
        }
    }
}

impl Default for OutputFilling {
    fn default() -> Self {
        Self::FIRST
    }
}

/// Whether there is an element, and all its bytes are `byte`.
fn is<const SIZE: usize>(element: Option<[u8; SIZE]>, byte: u8) -> bool {
    element == Some([byte; SIZE])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elements_that_were_not_written_hold_the_filling() {
        for dtype in [DataType::Float, DataType::Float16, DataType::Bfloat16, DataType::Double]
            .into_iter()
            .chain([DataType::Int8, DataType::Uint8, DataType::Int32, DataType::Int64])
        {
            for (filling, other) in
                [(OutputFilling::FIRST, OutputFilling::SECOND), (OutputFilling::SECOND, OutputFilling::FIRST)]
            {
                let buffer = filling.buffer(dtype, vec![2, 2]).unwrap();
                assert!((0..4).all(|index| filling.is_left_in(&buffer, index)), "{dtype:?}");
                assert!(!filling.is_left_in(&buffer, 4));
                assert!((0..4).all(|index| !other.is_left_in(&buffer, index)), "{dtype:?}");
                let written = Tensor::from_f64(dtype, vec![1], &[1.0]).unwrap();
                assert!(!filling.is_left_in(&written, 0), "{dtype:?}");
            }
        }
    }

    #[test]
    fn fillings_of_outputs_are_nan_and_large_in_every_float_type() {
        for (filling, is_expected) in [
            (OutputFilling::FIRST, f64::is_nan as fn(f64) -> bool),
            (OutputFilling::SECOND, |x| x.is_finite() && x > 5e4),
        ] {
            for dtype in [DataType::Float, DataType::Float16, DataType::Bfloat16, DataType::Double] {
                let value = filling.buffer(dtype, vec![1]).unwrap().to_f64()[0];
                assert!(is_expected(value), "{dtype:?}: {value}");
            }
        }
    }

    #[test]
    fn worker_is_asked_for_what_it_can_fill() {
        let both = [Fillable::Outputs, Fillable::Scratch];
        assert!(Filling::of(&[], Some(PoisonPattern::Large)).is_none());
        assert_eq!(Filling::of(&both, None), Filling { outputs: Some(OutputFilling::FIRST), scratch: None });
        assert_eq!(
            Filling::of(&both, Some(PoisonPattern::Large)),
            Filling { outputs: Some(OutputFilling::SECOND), scratch: Some([0x7b, 0x7b]) }
        );
        assert_eq!(
            Filling::of(&[Fillable::Scratch], Some(PoisonPattern::Nan)),
            Filling { outputs: None, scratch: Some([0xff, 0x7f]) }
        );
    }
}
