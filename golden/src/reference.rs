use twinfer_onnx::{DataType, InvalidTensor, Tensor};

use crate::grid::Grid;

/// The exact elements of one output, and how far a conforming backend may be off in each.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The element type.
    pub dtype: DataType,
    /// The extents.
    pub shape: Vec<usize>,
    /// The elements of exact arithmetic, before they are rounded to `dtype`; integers are rounded and saturated as
    /// QuantizeLinear does.
    pub values: Vec<f64>,
    /// The largest deviation of a conforming element from `values`, including the rounding to `dtype`. Zero in the
    /// exact regime; infinite if every result conforms.
    pub bound: Vec<f64>,
    /// The step of the grid on which the values lie, if every conforming backend returns them exactly (the exact regime);
    /// `None` in the rounding regime.
    pub grid_step: Option<f64>,
    /// The distance between neighboring values if the output is quantized or dequantized with one scale, and `None`
    /// otherwise: the unit in which differences are reported.
    pub quantization_step: Option<f64>,
    /// Whether a zero of the other sign is wrong, because the elements are only moved from inputs and constants.
    pub has_signed_zeros: bool,
}

/// How one element of a backend's output relates to the reference.
///
/// This is the one policy for NaN, infinities and signed zeros: a NaN matches only a NaN, and an infinity only itself; zeros are
/// equal whatever their sign, unless the elements are only moved from inputs and constants. If the bound is infinite every element is
/// [`Free`](Self::Free), by one of [`Evaluation::open`](crate::Evaluation::open).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// The element equals the reference.
    Exact,
    /// The deviation, which is within the bound: rounding explains it.
    Rounded(f64),
    /// The deviation, which rounding does not explain; infinite unless both are finite.
    Wrong(f64),
    /// Any value conforms, because of an overflow or an operand that is not finite.
    Free,
}

impl Reference {
    #[expect(clippy::float_cmp, reason = "equality is one of the answers")]
    /// Compares a backend's value `given` with element `place`; `Free` beyond the last element.
    pub fn compare(&self, place: usize, given: f64) -> Agreement {
        let (Some(value), Some(bound)) = (self.values.get(place), self.bound.get(place)) else {
            return Agreement::Free;
        };
        if *bound == f64::INFINITY {
            return Agreement::Free;
        }
        if *value == given || value.is_nan() && given.is_nan() {
            let has_wrong_sign =
                self.has_signed_zeros && given == 0.0 && given.is_sign_negative() != value.is_sign_negative();
            return if has_wrong_sign { Agreement::Wrong(0.0) } else { Agreement::Exact };
        }
        let deviation = (value - given).abs();
        if !deviation.is_finite() {
            return Agreement::Wrong(f64::INFINITY);
        }
        if deviation <= *bound { Agreement::Rounded(deviation) } else { Agreement::Wrong(deviation) }
    }

    /// Whether the bounds are so wide that agreement means nothing: zero everywhere would agree, though the values are
    /// not known to be zero.
    pub fn is_vacuous(&self) -> bool {
        let zero_agrees =
            |(value, bound): (&f64, &f64)| *bound == f64::INFINITY || *bound > 0.0 && *bound >= value.abs();
        !self.values.is_empty() && self.values.iter().zip(&self.bound).all(zero_agrees)
    }

    /// The step of the coarsest dyadic grid on which all values lie, exact or not; `None` if one is not finite.
    pub fn step(&self) -> Option<f64> {
        Grid::of(&self.values).map(Grid::size)
    }

    /// The values rounded to nearest even: the output of a perfect backend.
    pub fn to_tensor(&self) -> Result<Tensor, InvalidTensor> {
        Tensor::from_f64(self.dtype, self.shape.clone(), &self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(value: f64, bound: f64, grid_step: Option<f64>) -> Reference {
        Reference {
            dtype: DataType::Float,
            shape: vec![],
            values: vec![value],
            bound: vec![bound],
            grid_step,
            quantization_step: None,
            has_signed_zeros: false,
        }
    }

    #[test]
    fn signs_of_zeros_count_where_elements_are_only_moved() {
        let moved = Reference { has_signed_zeros: true, ..reference(0.0, 0.0, None) };
        assert_eq!(moved.compare(0, 0.0), Agreement::Exact);
        assert_eq!(moved.compare(0, -0.0), Agreement::Wrong(0.0));
        assert_eq!(reference(0.0, 0.0, None).compare(0, -0.0), Agreement::Exact);
    }

    #[test]
    fn any_deviation_from_exact_values_is_wrong() {
        let exact = reference(32.0, 0.0, Some(16.0));
        assert_eq!(exact.compare(0, 32.0), Agreement::Exact);
        assert_eq!(exact.compare(0, 32.5), Agreement::Wrong(0.5));
    }

    #[test]
    fn deviations_up_to_the_bound_are_rounding() {
        let rounded = reference(1.0, 0.25, None);
        assert_eq!(rounded.compare(0, 1.25), Agreement::Rounded(0.25));
        assert_eq!(rounded.compare(0, 1.5), Agreement::Wrong(0.5));
    }

    #[test]
    fn a_number_matches_neither_nan_nor_infinity() {
        let rounded = reference(1.0, 0.25, None);
        assert_eq!(rounded.compare(0, f64::NAN), Agreement::Wrong(f64::INFINITY));
        assert_eq!(rounded.compare(0, f64::INFINITY), Agreement::Wrong(f64::INFINITY));
        assert_eq!(reference(f64::NAN, 0.0, None).compare(0, -f64::NAN), Agreement::Exact);
        assert_eq!(reference(f64::NAN, 0.0, None).compare(0, 1.0), Agreement::Wrong(f64::INFINITY));
        assert_eq!(
            reference(f64::INFINITY, 0.0, None).compare(0, f64::NEG_INFINITY),
            Agreement::Wrong(f64::INFINITY)
        );
    }

    #[test]
    fn agreement_means_nothing_where_zero_would_agree_everywhere() {
        assert!(reference(1.0, 1.5, None).is_vacuous());
        assert!(reference(f64::NAN, f64::INFINITY, None).is_vacuous());
        assert!(!reference(1.0, 0.5, None).is_vacuous());
        assert!(!reference(0.0, 0.0, Some(1.0)).is_vacuous());
    }

    #[test]
    fn zeros_are_equal_whatever_their_sign() {
        assert_eq!(reference(0.0, 0.0, Some(1.0)).compare(0, -0.0), Agreement::Exact);
    }
}
