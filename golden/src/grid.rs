use crate::format::{Format, power_of_two};

/// The step of the dyadic grid on which a set of numbers lies: a power of two, or any step if all are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid(Option<i32>);

impl Grid {
    /// The step of numbers that are all zero: they lie on every grid.
    pub const ZERO: Self = Self(None);

    /// The coarsest grid on which all of `values` lie; `None` if one is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut finest: Option<i32> = None;
        for value in values {
            if !value.is_finite() {
                return None;
            }
            if *value != 0.0 {
                let exponent = lowest_bit(*value);
                finest = Some(finest.map_or(exponent, |finest| finest.min(exponent)));
            }
        }
        Some(Self(finest))
    }

    /// The grid on which sums of numbers of either grid lie.
    pub fn and(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Self(Some(a.min(b))),
            (a, b) => Self(a.or(b)),
        }
    }

    /// The grid on which products of a number of each grid lie.
    pub fn times(self, other: Self) -> Self {
        Self(self.0.zip(other.0).map(|(a, b)| a + b))
    }

    /// Whether `format` holds every number of this grid up to `magnitude` exactly, and none of them is subnormal.
    pub fn is_exact_in(self, format: Format, magnitude: f64) -> bool {
        match self.0 {
            None => magnitude == 0.0,
            Some(exponent) => {
                (format.min_normal_exponent..=1000).contains(&exponent)
                    && magnitude <= power_of_two(format.precision) * power_of_two(exponent)
                    && magnitude <= format.max
            }
        }
    }

    /// The step; for numbers that are all zero the smallest normal f64, so that any other number is off the grid.
    pub fn size(self) -> f64 {
        self.0.map_or(f64::MIN_POSITIVE, |exponent| power_of_two(exponent.max(-1022)))
    }
}

/// The exponent of the lowest bit that is set in a finite number other than zero.
fn lowest_bit(value: f64) -> i32 {
    const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let biased = (bits >> FRACTION_BITS & 0x7ff) as i32;
    let significand = if biased == 0 { fraction } else { fraction | 1 << FRACTION_BITS };
    biased.max(1) - 1075 + significand.trailing_zeros() as i32
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;

    #[test]
    fn the_step_is_the_lowest_bit_of_any_value() {
        assert_eq!(Grid::of(&[3.0, 0.0, -1.5]), Some(Grid(Some(-1))));
        assert_eq!(Grid::of(&[8.0, 12.0]), Some(Grid(Some(2))));
        assert_eq!(Grid::of(&[f64::from_bits(1)]), Some(Grid(Some(-1074))));
        assert_eq!(Grid::of(&[0.0, -0.0]), Some(Grid::ZERO));
        assert_eq!(Grid::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn a_grid_is_exact_up_to_the_precision_of_the_format() {
        let format = Format::of(DataType::Float16);
        assert!(Grid(Some(0)).is_exact_in(format, 2048.0));
        assert!(!Grid(Some(0)).is_exact_in(format, 2049.0));
        assert!(!Grid(Some(-15)).is_exact_in(format, 0.001), "subnormal steps are not exact");
        assert!(!Grid(Some(6)).is_exact_in(format, 65536.0), "beyond the largest number");
    }
}
