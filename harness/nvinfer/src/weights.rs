use std::borrow::Cow;

use crate::{
    DataType, Error, Result, Version,
    sys::{self},
};

/// The elements of a kernel, a bias or a constant, borrowed. A network copies the weights passed to it.
#[derive(Clone, Debug)]
pub struct Weights<'a> {
    data_type: DataType,
    bytes: Cow<'a, [u8]>,
    count: usize,
}

impl<'a> Weights<'a> {
    /// No elements: the kernel comes as a second input, or there is no bias.
    pub const NONE: Weights<'static> =
        Weights { data_type: DataType::Float, bytes: Cow::Borrowed(&[]), count: 0 };

    /// Elements in native byte order; types of four bits pack two elements into a byte.
    pub fn from_bytes(data_type: DataType, bytes: &'a [u8]) -> Result<Self> {
        let bits = match data_type {
            DataType::Int4 | DataType::Fp4 => 4,
            DataType::Int8 | DataType::Bool | DataType::Uint8 | DataType::Fp8 | DataType::E8m0 => 8,
            DataType::Half | DataType::Bf16 => 16,
            DataType::Float | DataType::Int32 => 32,
            DataType::Int64 => 64,
        };
        if !(bytes.len() * 8).is_multiple_of(bits) {
            return Err(Error::Weights { data_type, bytes: bytes.len() });
        }
        Ok(Self { data_type, bytes: Cow::Borrowed(bytes), count: bytes.len() * 8 / bits })
    }

    /// 32-bit floats.
    pub fn from_f32(elements: &'a [f32]) -> Self {
        let bytes = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
        Self { data_type: DataType::Float, bytes: Cow::Owned(bytes), count: elements.len() }
    }

    /// Signed bytes.
    pub fn from_i8(elements: &'a [i8]) -> Self {
        let bytes = elements.iter().map(|element| element.cast_unsigned()).collect();
        Self { data_type: DataType::Int8, bytes: Cow::Owned(bytes), count: elements.len() }
    }

    /// The number of elements.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// Weights that a network keeps for the library, which does not copy them.
#[derive(Debug)]
pub struct Kept {
    data_type: i32,
    /// Words, so that elements of any type are aligned.
    words: Box<[u64]>,
    count: i64,
}

impl Kept {
    /// Copies `weights`, whose type `version` must have.
    pub fn new(weights: &Weights<'_>, version: Version) -> Result<Self> {
        let word = |chunk: &[u8]| {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(bytes)
        };
        Ok(Self {
            data_type: weights.data_type.value(version)?,
            words: weights.bytes.chunks(8).map(word).collect(),
            count: i64::try_from(weights.count).unwrap_or(i64::MAX),
        })
    }

    /// The struct to pass to the library; valid while `self` lives, even if `self` is moved.
    pub fn as_raw(&self) -> sys::Weights {
        let values = if self.words.is_empty() { std::ptr::null() } else { self.words.as_ptr().cast() };
        sys::Weights { data_type: self.data_type, values, count: self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_weights_hold_the_bytes_and_the_count() {
        let version = Version::from_number(8600).expect("supported");
        let kept = Kept::new(&Weights::from_f32(&[1.0, -2.5, 3.0]), version).expect("floats");
        let raw = kept.as_raw();
        assert_eq!(raw.count, 3);
        // SAFETY: three floats were kept.
        let values = unsafe { std::slice::from_raw_parts(raw.values.cast::<f32>(), 3) };
        assert_eq!(values, [1.0, -2.5, 3.0]);
    }

    #[test]
    fn bytes_that_are_not_whole_elements_are_refused() {
        assert!(matches!(Weights::from_bytes(DataType::Half, &[0; 3]), Err(Error::Weights { bytes: 3, .. })));
        assert_eq!(Weights::from_bytes(DataType::Int4, &[0; 3]).expect("six elements").count(), 6);
    }
}
