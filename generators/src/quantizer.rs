use twinfer_onnx::{DataType, Tensor};

use crate::{Choices, tensors::made};

/// The type and the zero point of a `QuantizeLinear` and the `DequantizeLinear` behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantizer {
    /// The type of the integers.
    pub dtype: DataType,
    /// The zero point.
    pub zero_point: ZeroPoint,
}

/// The form of a zero point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroPoint {
    /// Not an input: the zero point is zero, and the result of `QuantizeLinear` is uint8.
    Absent,
    /// An input of zero.
    Zero,
    /// An input other than zero.
    Nonzero,
}

/// The part of a weight that shares a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// The whole weight.
    Tensor,
    /// Each output channel: axis 0 of Conv; axis 1 of ConvTranspose, whose scales apply to one channel of every
    /// group.
    Outputs,
    /// Each input channel: axis 1 of Conv, whose scales apply to one channel of every group; axis 0 of ConvTranspose.
    Inputs,
    /// Each position of the kernel along a spatial axis.
    Kernel,
}

/// How the attribute `axis` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisForm {
    /// Counted from the front.
    Positive,
    /// Counted from the back.
    Negative,
    /// Not written, which means axis 1; any other axis is counted from the front.
    Omitted,
}

/// Whether there are quantizers of this precision in that version of the operator set.
pub(crate) const fn quantizable(precision: DataType, opset: i64) -> bool {
    matches!(precision, DataType::Float) || opset >= 19
}

impl Quantizer {
    /// A signed type with a zero point of zero, which hardware computes with.
    pub const SYMMETRIC: Self = Self { dtype: DataType::Int8, zero_point: ZeroPoint::Zero };

    /// Whether the integers are signed and the zero point is zero.
    pub fn is_symmetric(self) -> bool {
        self.dtype == DataType::Int8 && self.zero_point != ZeroPoint::Nonzero
    }

    /// A form that `QuantizeLinear` can express: without a zero point its result is uint8.
    pub(crate) fn quantizing(self) -> Self {
        match self {
            Self { dtype: DataType::Uint8, .. } => self,
            Self { zero_point: ZeroPoint::Absent, dtype } => Self { dtype, zero_point: ZeroPoint::Zero },
            Self { .. } => self,
        }
    }

    /// The smallest and the largest integer.
    pub(crate) const fn range(self) -> (i64, i64) {
        match self.dtype {
            DataType::Uint8 => (0, 255),
            _ => (-128, 127),
        }
    }

    /// Draws a zero point: near the middle of the range, or at its ends, so that nearly half of all numbers saturate.
    pub(crate) fn zero_point(self, choices: &mut Choices) -> i64 {
        let (least, greatest) = self.range();
        match self.zero_point {
            ZeroPoint::Absent | ZeroPoint::Zero => 0,
            ZeroPoint::Nonzero => {
                let middle = (least + greatest + 1) / 2;
                let away = *choices.one_of(&[1, 3, 10, 37, 100]);
                let from = *choices.one_of(&[middle - away, middle + away, middle - away, least, greatest]);
                if from == 0 { middle + away } else { from }
            }
        }
    }

    /// The zero points as an input tensor; `None` if the input is omitted.
    pub(crate) fn tensor(self, shape: Vec<usize>, zero_points: &[i64]) -> Option<Tensor> {
        let zero_points: Vec<_> = zero_points.iter().map(|zero_point| *zero_point as f64).collect();
        (self.zero_point != ZeroPoint::Absent).then(|| made(self.dtype, shape, &zero_points))
    }

    /// The smallest and the largest integer minus the zero point.
    pub(crate) const fn levels(self, zero_point: i64) -> (i64, i64) {
        let (least, greatest) = self.range();
        (least - zero_point, greatest - zero_point)
    }
}

impl AxisForm {
    /// The attribute that means `axis` of a tensor of this rank.
    pub(crate) const fn attribute(self, axis: usize, rank: usize) -> Option<i64> {
        match self {
            Self::Omitted if axis == 1 => None,
            Self::Negative => Some(axis as i64 - rank as i64),
            Self::Positive | Self::Omitted => Some(axis as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_point_fits_its_type_and_is_nonzero_if_asked() {
        let mut choices = Choices::of_index(3, 0);
        for dtype in [DataType::Int8, DataType::Uint8] {
            let quantizer = Quantizer { dtype, zero_point: ZeroPoint::Nonzero };
            let (least, greatest) = quantizer.range();
            let drawn: Vec<_> = (0..500).map(|_| quantizer.zero_point(&mut choices)).collect();
            assert!(drawn.iter().all(|drawn| *drawn != 0 && (least..=greatest).contains(drawn)), "{drawn:?}");
            assert!(
                drawn.contains(&greatest) && drawn.iter().any(|drawn| *drawn < greatest / 2),
                "{drawn:?}"
            );
        }
    }

    #[test]
    fn without_a_zero_point_a_quantizer_gives_uint8() {
        let quantizing = |dtype| Quantizer { dtype, zero_point: ZeroPoint::Absent }.quantizing().zero_point;
        assert_eq!(quantizing(DataType::Uint8), ZeroPoint::Absent);
        assert_eq!(quantizing(DataType::Int8), ZeroPoint::Zero);
    }

    #[test]
    fn an_axis_is_left_out_only_where_that_means_it() {
        assert_eq!(AxisForm::Omitted.attribute(1, 4), None);
        assert_eq!(AxisForm::Omitted.attribute(0, 4), Some(0));
        assert_eq!(AxisForm::Negative.attribute(1, 4), Some(-3));
        assert_eq!(AxisForm::Positive.attribute(3, 4), Some(3));
    }
}
