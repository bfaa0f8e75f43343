//! approx's comparisons of tensors, for tests with a tolerance of their own.
//!
//! Tensors of different types or shapes are never equal, nor is a NaN to anything. Tolerances are 64-bit numbers whatever the element
//! type; units in the last place are those of the element type, and integers are equal or not.

use approx::{AbsDiffEq, RelativeEq, UlpsEq};

use crate::{Tensor, TensorData};

impl AbsDiffEq for Tensor {
    type Epsilon = f64;

    fn default_epsilon() -> f64 {
        f64::from(f32::EPSILON)
    }

    fn abs_diff_eq(&self, other: &Self, epsilon: f64) -> bool {
        every_pair(self, other, |one, other| one.abs_diff_eq(&other, epsilon))
    }
}

impl RelativeEq for Tensor {
    fn default_max_relative() -> f64 {
        f64::from(f32::EPSILON)
    }

    fn relative_eq(&self, other: &Self, epsilon: f64, max_relative: f64) -> bool {
        every_pair(self, other, |one, other| one.relative_eq(&other, epsilon, max_relative))
    }
}

impl UlpsEq for Tensor {
    fn default_max_ulps() -> u32 {
        f32::default_max_ulps()
    }

    fn ulps_eq(&self, other: &Self, epsilon: f64, max_ulps: u32) -> bool {
        let (Some(one), Some(two)) = (places(&self.data), places(&other.data)) else {
            return every_pair(self, other, |one, other| one == other);
        };
        let is_near = |(one, two): (&i64, &i64)| one.abs_diff(*two) <= u64::from(max_ulps);
        let near: Vec<_> = one.iter().zip(&two).map(is_near).collect();
        let mut near = near.into_iter();
        every_pair(self, other, |one, other| {
            let is_near = near.next().unwrap_or(false);
            one.abs_diff_eq(&other, epsilon) || is_near && !one.is_nan() && !other.is_nan()
        })
    }
}

/// Whether two tensors have one type and shape, and every pair of their elements is `close`.
fn every_pair(one: &Tensor, other: &Tensor, mut close: impl FnMut(f64, f64) -> bool) -> bool {
    if (one.dtype(), &one.shape) != (other.dtype(), &other.shape) {
        return false;
    }
    match (&one.data, &other.data) {
        // not every 64-bit integer is a 64-bit float: what is close is their difference
        (TensorData::Int64(one), TensorData::Int64(other)) => one
            .iter()
            .zip(other)
            .all(|(one, other)| close((i128::from(*one) - i128::from(*other)) as f64, 0.0)),
        _ => one.to_f64().into_iter().zip(other.to_f64()).all(|(one, other)| close(one, other)),
    }
}

/// The place of each element among the floats of its type, in order; `None` for integers.
fn places(data: &TensorData) -> Option<Vec<i64>> {
    /// Floats have the order of their bits, those below zero the reverse order.
    fn place(bits: i64, sign: i64) -> i64 {
        if bits & sign == 0 { bits } else { -(bits & !sign) }
    }
    match data {
        TensorData::Float(elements) => {
            Some(elements.iter().map(|x| place(i64::from(x.to_bits()), 1 << 31)).collect())
        }
        TensorData::Double(elements) => {
            Some(elements.iter().map(|x| place(x.to_bits() as i64, i64::MIN)).collect())
        }
        TensorData::Float16(elements) => {
            Some(elements.iter().map(|x| place(i64::from(x.to_bits()), 1 << 15)).collect())
        }
        TensorData::Bfloat16(elements) => {
            Some(elements.iter().map(|x| place(i64::from(x.to_bits()), 1 << 15)).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use approx::{
        assert_abs_diff_eq, assert_relative_eq, assert_relative_ne, assert_ulps_eq, assert_ulps_ne,
    };
    use half::f16;

    use super::*;

    fn float(elements: &[f32]) -> Tensor {
        Tensor { shape: vec![elements.len()], data: TensorData::Float(elements.to_vec()) }
    }

    #[test]
    fn tolerances_are_those_of_approx() {
        let (one, near) = (float(&[1.0, -1000.0]), float(&[1.0005, -1000.5]));
        assert_relative_eq!(one, near, max_relative = 1e-3);
        assert_relative_ne!(one, near, max_relative = 1e-4);
        assert_abs_diff_eq!(one, near, epsilon = 0.5);
        assert_relative_ne!(float(&[f32::NAN]), float(&[f32::NAN]));
        assert_relative_ne!(one, Tensor { shape: vec![1, 2], ..near });
    }

    #[test]
    fn units_in_the_last_place_are_those_of_the_type() {
        let half = |x: f32| Tensor { shape: vec![], data: TensorData::Float16(vec![f16::from_f32(x)]) };
        assert_ulps_eq!(half(1.0), half(1.0 + 1.0 / 1024.0), epsilon = 0.0, max_ulps = 1);
        assert_ulps_ne!(half(1.0), half(1.0 + 2.0 / 1024.0), epsilon = 0.0, max_ulps = 1);
        let smallest = f32::from_bits(1);
        assert_ulps_eq!(float(&[smallest]), float(&[-smallest]), epsilon = 0.0, max_ulps = 2);
        assert_ulps_ne!(float(&[smallest]), float(&[-smallest]), epsilon = 0.0, max_ulps = 1);
        assert_ulps_ne!(float(&[f32::NAN]), float(&[f32::NAN]), epsilon = 0.0, max_ulps = 1);
    }

    #[test]
    fn integers_differ_by_one_at_least() {
        let long = |x: i64| Tensor { shape: vec![1], data: TensorData::Int64(vec![x]) };
        assert_ulps_ne!(long(i64::MAX), long(i64::MAX - 1));
        assert_relative_ne!(long(i64::MAX), long(i64::MAX - 1));
        assert_abs_diff_eq!(long(i64::MAX), long(i64::MAX - 1), epsilon = 1.0);
    }
}
