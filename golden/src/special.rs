//! Elements that are not finite, or may not be: which result IEEE 754 gives them in any order of summation, and where it depends on
//! the order or on what ONNX leaves open.

use std::ops::RangeInclusive;

use crate::{
    format::Format,
    rules::{self, Entry},
};

/// The result of one element that the error bound does not describe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special {
    /// Every conforming backend gives this value: NaN or an infinity.
    Settled(f64),
    /// Every conforming backend gives an infinity of the sum's sign, because the sum overflows. Inside of the graph, where a backend may fuse the
    /// sum with what follows or keep it in a wider type, it is open.
    Overflow,
    /// Any value conforms, by this rule; `None` if the rule is that of an operand.
    Open(Option<&'static Entry>),
}

/// A number with the largest error that a conforming backend may make in it; infinite if any value conforms.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    pub value: f64,
    pub error: f64,
}

impl Number {
    /// Whether the number is finite, as every conforming backend gives it.
    pub const fn is_finite(self) -> bool {
        self.value.is_finite() && self.error.is_finite()
    }

    /// Whether zero or a number of the other sign conforms as well.
    fn has_open_sign(self) -> bool {
        self.error > 0.0 && self.value.abs() <= self.error
    }
}

/// The places of integers beyond a range, which are open by `entry`.
pub fn overflowing(
    integers: &[f64],
    range: &RangeInclusive<f64>,
    entry: &'static Entry,
) -> Vec<(usize, Special)> {
    let beyond = integers.iter().enumerate().filter(|(_, integer)| !range.contains(integer));
    beyond.map(|(place, _)| (place, Special::Open(Some(entry)))).collect()
}

/// The terms of a sum, added in an order that is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    has_nan: bool,
    has_open: bool,
    infinities: Signs,
    finite: Signs,
    /// The sum of the absolute finite terms.
    magnitude: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    positive: bool,
    negative: bool,
}

impl Signs {
    const fn add(&mut self, value: f64) {
        self.positive |= value > 0.0;
        self.negative |= value < 0.0;
    }

    const fn are_mixed(self) -> bool {
        self.positive && self.negative
    }
}

impl Terms {
    /// Adds a product.
    pub fn product(&mut self, x: Number, w: Number) {
        let product = x.value * w.value;
        if x.value.is_nan() && x.error == 0.0 || w.value.is_nan() && w.error == 0.0 {
            self.has_nan = true;
        } else if x.error == f64::INFINITY || w.error == f64::INFINITY {
            self.has_open = true;
        } else if x.value.is_finite() && w.value.is_finite() {
            self.finite(product, x.has_open_sign() || w.has_open_sign());
        } else if x.has_open_sign() || w.has_open_sign() {
            self.has_open = true;
        } else {
            self.not_finite(product);
        }
    }

    /// Adds a number.
    pub fn number(&mut self, number: Number) {
        self.product(number, Number { value: 1.0, error: 0.0 });
    }

    fn finite(&mut self, value: f64, has_open_sign: bool) {
        self.finite.add(value);
        if has_open_sign {
            self.finite = Signs { positive: true, negative: true };
        }
        self.magnitude += value.abs();
    }

    const fn not_finite(&mut self, value: f64) {
        self.has_nan |= value.is_nan();
        self.infinities.add(value);
    }

    /// The sum if a term is not finite; `None` if all are finite. Between an infinity and finite terms that overflow in the other
    /// direction, the order decides.
    pub fn sum(&self, format: Format) -> Option<Special> {
        let Signs { positive, negative } = self.infinities;
        if self.has_nan || self.infinities.are_mixed() {
            return Some(Special::Settled(f64::NAN));
        }
        if self.has_open {
            return Some(Special::Open(None));
        }
        if !positive && !negative {
            return None;
        }
        let opposes = if positive { self.finite.negative } else { self.finite.positive };
        // the factor leaves room for rounding errors of partial sums
        if opposes && 2.0 * self.magnitude > format.max {
            return Some(Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER)));
        }
        Some(Special::Settled(if positive { f64::INFINITY } else { f64::NEG_INFINITY }))
    }

    /// The sum of finite terms that is exactly `sum` and may be off by `error`; `None` if no order of them overflows. Terms of one
    /// sign overflow in every order or in none.
    pub fn overflow(&self, sum: f64, error: f64, format: Format) -> Option<Special> {
        if self.magnitude + error <= format.max {
            return None;
        }
        // numbers from half a step beyond the largest one on round to infinity
        let least_infinite = format.max * (1.0 + format.unit_roundoff());
        let is_settled = !self.finite.are_mixed() && sum.is_finite() && sum.abs() - error > least_infinite;
        Some(if is_settled { Special::Overflow } else { Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER)) })
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;

    const INF: f64 = f64::INFINITY;

    fn sum(products: &[(f64, f64)]) -> Option<Special> {
        let mut terms = Terms::default();
        let exact = |value| Number { value, error: 0.0 };
        for (x, w) in products {
            terms.product(exact(*x), exact(*w));
        }
        let format = Format::of(DataType::Float16);
        let total = products.iter().map(|(x, w)| x * w).sum();
        terms.sum(format).or_else(|| terms.overflow(total, 1.0, format))
    }

    fn is_nan(special: Option<Special>) -> bool {
        matches!(special, Some(Special::Settled(value)) if value.is_nan())
    }

    #[test]
    fn sums_with_infinities_do_not_depend_on_the_order() {
        assert_eq!(sum(&[(INF, 2.0), (3.0, -4.0)]), Some(Special::Settled(INF)));
        assert_eq!(sum(&[(INF, -2.0), (3.0, 4.0)]), Some(Special::Settled(-INF)));
        assert!(is_nan(sum(&[(INF, 1.0), (INF, -1.0)])));
        assert!(is_nan(sum(&[(INF, 0.0), (1.0, 1.0)])));
        assert!(is_nan(sum(&[(f64::NAN, 0.0)])));
        assert_eq!(sum(&[(3.0, -4.0)]), None);
    }

    #[test]
    fn overflow_is_settled_for_terms_of_one_sign_only() {
        let open = Some(Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER)));
        assert_eq!(sum(&[(300.0, 300.0), (1.0, 1.0)]), Some(Special::Overflow));
        assert_eq!(sum(&[(300.0, -300.0)]), Some(Special::Overflow));
        assert_eq!(sum(&[(300.0, 300.0), (300.0, -300.0)]), open);
        assert_eq!(sum(&[(65504.0, 1.0), (10.0, 1.0)]), open, "just beyond the largest number");
        assert_eq!(sum(&[(INF, 1.0), (300.0, -300.0)]), open);
        assert_eq!(sum(&[(INF, 1.0), (300.0, 300.0)]), Some(Special::Settled(INF)));
    }

    #[test]
    fn numbers_of_open_value_or_sign_leave_the_sum_open() {
        let number = |value, error| Number { value, error };
        let sum = |x, w| {
            let mut terms = Terms::default();
            terms.product(x, w);
            terms.sum(Format::of(DataType::Float))
        };
        assert_eq!(sum(number(INF, 0.0), number(1e-40, 1e-40)), Some(Special::Open(None)));
        assert_eq!(sum(number(1.0, INF), number(1.0, 0.0)), Some(Special::Open(None)));
        assert!(is_nan(sum(number(f64::NAN, 0.0), number(1.0, INF))));
    }
}
