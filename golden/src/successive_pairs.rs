//! Two pairs of QuantizeLinear and DequantizeLinear, one behind the other, as one; only a mutant merges them.

use twinfer_onnx::DataType;

use crate::{elementwise::integer_range, quantization::spanning, value::Value};

/// The parameters of a pair, in 32-bit floats as backends compute them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantizerPair {
    pub dtype: DataType,
    pub scale: f32,
    pub zero_point: f32,
}

impl QuantizerPair {
    /// A pair with these parameters; `None` unless they are one scale and at most one zero point.
    pub fn of(dtype: DataType, scale: &Value, zero_point: Option<&Value>) -> Option<Self> {
        let [scale] = scale.elements[..] else { return None };
        let zero_point = match zero_point.map(|zero_point| &zero_point.elements[..]) {
            None => 0.0,
            Some([zero_point]) => *zero_point,
            Some(_) => return None,
        };
        Some(Self { dtype, scale: scale as f32, zero_point: zero_point as f32 })
    }

    /// The pair whose range is what both have in common; `None` if they are of other types or alike, or have only zero in common.
    pub fn merged_with(self, other: Self) -> Option<Self> {
        if self.dtype != other.dtype || self == other {
            return None;
        }
        let (least, largest) = self.range()?;
        let (other_least, other_largest) = other.range()?;
        let common = (least.max(other_least), largest.min(other_largest));
        let (scale, zero_point) = spanning(common, self.integers()?);
        (scale > 0.0).then_some(Self { dtype: self.dtype, scale, zero_point: zero_point.round() })
    }

    /// The least and the largest number that it represents.
    fn range(self) -> Option<(f32, f32)> {
        let (lowest, highest) = self.integers()?;
        Some(((lowest - self.zero_point) * self.scale, (highest - self.zero_point) * self.scale))
    }

    fn integers(self) -> Option<(f32, f32)> {
        let (lowest, highest) = integer_range(self.dtype)?;
        Some((lowest as f32, highest as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(dtype: DataType, scale: f32, zero_point: f32) -> QuantizerPair {
        QuantizerPair { dtype, scale, zero_point }
    }

    #[test]
    fn range_of_a_merged_pair_is_common_to_both() {
        let int8 = |scale, zero_point| pair(DataType::Int8, scale, zero_point);
        let narrow = int8(0.5, 0.0);
        assert_eq!(narrow.merged_with(int8(2.0, 10.0)), Some(narrow));
        // from 0 to 127.5, and from -128 to 127
        assert_eq!(int8(0.5, -128.0).merged_with(int8(1.0, 0.0)), Some(int8(127.0 / 255.0, -128.0)));
        let (negative, positive) = (int8(1.0, 127.0), int8(1.0, -128.0));
        assert_eq!(negative.merged_with(positive), None, "only zero is common");
        assert_eq!(narrow.merged_with(narrow), None);
        assert_eq!(narrow.merged_with(pair(DataType::Uint8, 2.0, 10.0)), None);
    }
}
