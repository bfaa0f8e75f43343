use twinfer_onnx::DataType;

use crate::{
    Arithmetic,
    arithmetic::ErrorModel as _,
    format::Format,
    rules::{self, Entry},
    special::{Special, Terms, overflowing},
    value::Value,
};

pub fn relu(x: &Value) -> (Value, Vec<&'static Entry>) {
    let elements = x.elements.iter().map(|x| if x.is_nan() { *x } else { x.max(0.0) }).collect();
    // if even the largest possible x is below zero, the result is zero
    let error = x.error.as_ref().map(|error| {
        error.iter().zip(&x.elements).map(|(error, x)| if x + error <= 0.0 { 0.0 } else { *error }).collect()
    });
    let mut value = Value { elements, error, has_signed_zeros: false, ..x.clone() };
    let touched = value.settle(open_where_nan(x, &rules::RELU_OF_NAN));
    (value, touched)
}

pub fn add(a: &Value, b: &Value, shape: Vec<usize>, arithmetic: Arithmetic) -> (Value, Vec<&'static Entry>) {
    let (a_places, b_places) = (broadcast_places(&a.shape, &shape), broadcast_places(&b.shape, &shape));
    let pairs = || a_places.iter().copied().zip(b_places.iter().copied());
    let elements: Vec<f64> = pairs().map(|(i, j)| a.elements[i] + b.elements[j]).collect();
    if let Some((lowest, highest)) = integer_range(a.dtype) {
        let overflows = overflowing(&elements, &(lowest..=highest), &rules::INTEGER_OVERFLOW);
        let elements = elements.into_iter().map(|sum| sum.clamp(lowest, highest)).collect();
        let error = pairs().map(|(i, j)| a.error_at(i) + b.error_at(j)).collect();
        let mut sum = Value::quantized(a.dtype, shape, elements, error);
        let touched = sum.settle(overflows);
        return (sum, touched);
    }
    let magnitude = pairs().map(|(i, j)| a.magnitude_at(i) + b.magnitude_at(j)).collect();
    let grid = a.grid.zip(b.grid).map(|(a, b)| a.and(b));
    let mut sum =
        Value::computed((a.dtype, a.format), shape, elements, magnitude, grid, |elements, magnitude| {
            let of_operands = pairs().map(|(i, j)| a.error_at(i) + b.error_at(j));
            let parts = of_operands.zip(elements).zip(magnitude);
            // one rounding more than that of the result, if the sum is fused with the accumulation of an operand
            let error = |((error, sum), magnitude): ((f64, &f64), &f64)| {
                error + arithmetic.error(a.dtype, 1.0, magnitude + error, sum.abs() + error)
            };
            parts.map(error).collect()
        });
    let decided = pairs().enumerate().filter_map(|(place, pair)| {
        let special = sum_special((a, pair.0), (b, pair.1), arithmetic)?;
        Some((place, special))
    });
    let touched = sum.settle(decided.collect::<Vec<_>>());
    (sum, touched)
}

pub fn mul(a: &Value, b: &Value, shape: Vec<usize>, arithmetic: Arithmetic) -> (Value, Vec<&'static Entry>) {
    let (a_places, b_places) = (broadcast_places(&a.shape, &shape), broadcast_places(&b.shape, &shape));
    let pairs = || a_places.iter().copied().zip(b_places.iter().copied());
    let elements: Vec<f64> = pairs().map(|(i, j)| a.elements[i] * b.elements[j]).collect();
    let propagated = |(i, j): (usize, usize)| {
        let (a_error, b_error) = (a.error_at(i), b.error_at(j));
        if a_error == 0.0 && b_error == 0.0 {
            return 0.0;
        }
        a.elements[i].abs() * b_error + b.elements[j].abs() * a_error + a_error * b_error
    };
    if let Some((lowest, highest)) = integer_range(a.dtype) {
        let overflows = overflowing(&elements, &(lowest..=highest), &rules::PRODUCT_OVERFLOW);
        let elements = elements.into_iter().map(|product| product.clamp(lowest, highest)).collect();
        let mut product = Value::quantized(a.dtype, shape, elements, pairs().map(propagated).collect());
        let touched = product.settle(overflows);
        return (product, touched);
    }
    let magnitude = pairs().map(|(i, j)| a.magnitude_at(i) * b.magnitude_at(j)).collect();
    let grid = a.grid.zip(b.grid).map(|(a, b)| a.times(b));
    let rounding = |product: f64, magnitude: f64, error: f64| {
        // one rounding more than that of the result, where a constant factor is folded into an operand's weights
        error + arithmetic.error(a.dtype, 1.0, magnitude + error, product.abs() + error)
    };
    let mut product =
        Value::computed((a.dtype, a.format), shape, elements, magnitude, grid, |elements, magnitude| {
            let parts = pairs().map(propagated).zip(elements).zip(magnitude);
            parts.map(|((error, product), magnitude)| rounding(*product, *magnitude, error)).collect()
        });
    let format = Format::of(a.dtype);
    let decided = pairs().enumerate().filter_map(|(place, (i, j))| {
        let (one, other) = (a.number(i), b.number(j));
        let (value, magnitude) = (one.value * other.value, a.magnitude_at(i) * b.magnitude_at(j));
        let error = rounding(value, magnitude, propagated((i, j)));
        if one.is_finite() && other.is_finite() && magnitude + error <= format.max {
            return None;
        }
        let mut terms = Terms::default();
        terms.product(one, other);
        let overflow = || match terms.overflow(value, error, format) {
            None => Some(Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER))),
            special => special,
        };
        Some((place, terms.sum(format).or_else(overflow)?))
    });
    let touched = product.settle(decided.collect::<Vec<_>>());
    (product, touched)
}

/// What is decided on the sum of two elements because one is not finite or the sum overflows; `None` if neither holds.
fn sum_special((a, i): (&Value, usize), (b, j): (&Value, usize), arithmetic: Arithmetic) -> Option<Special> {
    let format = Format::of(a.dtype);
    let (one, other) = (a.number(i), b.number(j));
    let magnitude = a.magnitude_at(i) + b.magnitude_at(j);
    if one.is_finite() && other.is_finite() && magnitude <= format.max / 2.0 {
        return None;
    }
    let mut terms = Terms::default();
    terms.number(one);
    terms.number(other);
    terms.sum(format).or_else(|| {
        let sum = one.value + other.value;
        let error = one.error + other.error + arithmetic.error(a.dtype, 1.0, magnitude, sum.abs());
        match terms.overflow(sum, error, format) {
            None if magnitude + error > format.max => {
                Some(Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER)))
            }
            special => special,
        }
    })
}

/// A value as an operand of an elementwise operator whose output has this shape.
pub fn broadcast(value: &Value, shape: &[usize]) -> Value {
    let places: Vec<_> = broadcast_places(&value.shape, shape).into_iter().map(Some).collect();
    value.gathered(shape, &places)
}

/// The places of NaN, which are open by `entry`.
pub fn open_where_nan<'a>(
    x: &'a Value,
    entry: &'static Entry,
) -> impl Iterator<Item = (usize, Special)> + 'a {
    let places = x.elements.iter().enumerate().filter(|(_, element)| element.is_nan());
    places.map(|(place, _)| (place, Special::Open(Some(entry))))
}

/// The range of an integer type.
pub fn integer_range(dtype: DataType) -> Option<(f64, f64)> {
    Some(match dtype {
        DataType::Int8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        DataType::Uint8 => (f64::from(u8::MIN), f64::from(u8::MAX)),
        DataType::Int32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        DataType::Int64 => (i64::MIN as f64, i64::MAX as f64),
        _ => return None,
    })
}

/// For each element of `to`, the index of the element of `from` that is broadcast to it.
fn broadcast_places(from: &[usize], to: &[usize]) -> Vec<usize> {
    if from == to {
        return (0..to.iter().product()).collect();
    }
    let missing = to.len() - from.len();
    let mut places = vec![0];
    for (axis, extent) in to.iter().enumerate() {
        let own = if axis < missing { 1 } else { from[axis - missing] };
        places = places
            .iter()
            .flat_map(|outer| (0..*extent).map(move |index| outer * own + if own == 1 { 0 } else { index }))
            .collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_repeats_missing_axes_and_those_of_extent_one() {
        assert_eq!(broadcast_places(&[2, 1], &[2, 2, 3]), [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
        assert_eq!(broadcast_places(&[3], &[2, 3]), [0, 1, 2, 0, 1, 2]);
        assert_eq!(broadcast_places(&[], &[2]), [0, 0]);
        assert_eq!(broadcast_places(&[2, 3], &[2, 3]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(broadcast_places(&[], &[]), [0]);
    }
}
