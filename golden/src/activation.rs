//! Operators that change each element by itself.

use twinfer_onnx::DataType;

use crate::{
    Arithmetic,
    arithmetic::ErrorModel as _,
    elementwise::open_where_nan,
    format::Format,
    grid::Grid,
    rules::{self, Entry},
    special::{Number, Special, Terms},
    value::Value,
};

/// Roundings of a Sigmoid, each of a number of up to 1: backends compute an exponential or a hyperbolic tangent, off by some units in
/// the last place, a sum and a quotient. CUDA's fastest functions, `__expf` and `__fdividef`, take up to six (errors in units in the last
/// place: CUDA C++ Programming Guide, "Intrinsic Functions").
const SIGMOID_ROUNDINGS: f64 = 16.0;

/// Roundings of a HardSwish: the factor 1/6, its product with x, the sum and the product, each twice where a backend divides by 6 or
/// fuses nothing.
const HARD_SWISH_ROUNDINGS: f64 = 8.0;

/// Roundings of a LeakyRelu of negative numbers: the slope in the type of the data, and the product.
const LEAKY_RELU_ROUNDINGS: f64 = 2.0;

/// The bounds of a Clip; `None` where one is absent.
pub struct Bounds<'a> {
    pub min: Option<&'a Value>,
    pub max: Option<&'a Value>,
}

impl Bounds<'_> {
    /// The number within the bounds that is nearest; the upper bound if no number is within them.
    fn nearest(&self, x: f64) -> f64 {
        if x.is_nan() {
            return x;
        }
        let above = self.min.map_or(x, |min| x.max(min.elements[0]));
        self.max.map_or(above, |max| above.min(max.elements[0]))
    }

    fn given(&self) -> impl Iterator<Item = &Value> {
        [self.min, self.max].into_iter().flatten()
    }

    /// How far the bounds of a backend may be off.
    fn error(&self) -> f64 {
        self.given().map(|bound| bound.error_at(0)).fold(0.0, f64::max)
    }

    /// Whether ONNX leaves it open which number an element becomes.
    fn leave_open(&self, x: f64) -> bool {
        let is_unbounded =
            (x == f64::INFINITY && self.max.is_none()) || (x == f64::NEG_INFINITY && self.min.is_none());
        x.is_nan() || is_unbounded || self.given().any(|bound| bound.elements[0].is_nan())
    }
}

pub fn clip(x: &Value, bounds: &Bounds) -> (Value, Vec<&'static Entry>) {
    let elements: Vec<f64> = x.elements.iter().map(|x| bounds.nearest(*x)).collect();
    let off = bounds.error();
    let error = (x.error.is_some() || off > 0.0).then(|| {
        let error = |(place, clipped): (usize, &f64)| match x.error_at(place) {
            // what may be anything may be NaN
            f64::INFINITY => f64::INFINITY,
            error => {
                let end = |error: f64| distance(bounds.nearest(x.elements[place] + error), *clipped);
                end(error).max(end(-error)) + off
            }
        };
        elements.iter().enumerate().map(error).collect()
    });
    let magnitude =
        elements.iter().enumerate().map(|(place, clipped)| x.magnitude_at(place).max(clipped.abs()));
    let grid = bounds.given().try_fold(x.grid, |grid, bound| Some(Some(grid?.and(bound.grid?))));
    let mut value = Value {
        magnitude: Some(magnitude.collect()),
        grid: grid.flatten(),
        error,
        quantization_step: None,
        has_signed_zeros: false,
        elements,
        ..x.clone()
    };
    // what overflowed is an infinity
    let given = x.given_elements();
    let open = given.iter().enumerate().filter(|(_, given)| bounds.leave_open(**given));
    let open: Vec<_> =
        open.map(|(place, _)| (place, Special::Open(Some(&rules::ACTIVATION_OF_NON_FINITE)))).collect();
    let touched = value.settle(open);
    (value, touched)
}

/// The distance of two numbers, which may be the same infinity.
#[expect(clippy::float_cmp, reason = "an infinity minus itself is no number")]
fn distance(one: f64, other: f64) -> f64 {
    if one == other { 0.0 } else { (one - other).abs() }
}

pub fn leaky_relu(x: &Value, alpha: f64, arithmetic: Arithmetic) -> (Value, Vec<&'static Entry>) {
    let leaked = |x: f64| if x < 0.0 { alpha * x } else { x };
    let largest_slope = alpha.abs().max(1.0);
    let slope = Grid::of(&[alpha]).filter(|grid| grid.is_exact_in(x.format, alpha.abs()));
    let grid = x.grid.zip(slope).map(|(x, slope)| x.and(x.times(slope)));
    let error_at = |place: usize, leaked: f64| {
        let propagated = largest_slope * x.error_at(place);
        let magnitude = largest_slope * x.largest_at(place);
        propagated + arithmetic.error(x.dtype, LEAKY_RELU_ROUNDINGS, magnitude, leaked.abs() + propagated)
    };
    let magnitude = (0..x.elements.len()).map(|place| largest_slope * x.magnitude_at(place));
    let mut value = Value::computed(
        (x.dtype, x.format),
        x.shape.clone(),
        x.elements.iter().map(|x| leaked(*x)).collect(),
        magnitude.collect(),
        grid,
        |elements, _| elements.iter().enumerate().map(|(place, leaked)| error_at(place, *leaked)).collect(),
    );
    let slope_of = |x: Number| if x.value < 0.0 { alpha } else { 1.0 };
    let decided = (0..x.elements.len()).filter_map(|place| {
        let number = x.number(place);
        let (slope, leaked) = (slope_of(number), leaked(number.value));
        let special =
            product_special(number, slope, x.dtype, (x.magnitude_at(place), error_at(place, leaked)))?;
        Some((place, special))
    });
    let decided: Vec<_> = decided.collect();
    let mut touched = value.settle(decided);
    touched.extend(value.settle(open_where_nan(x, &rules::ACTIVATION_OF_NON_FINITE)));
    (value, touched)
}

/// What is decided on the product of a number and a factor, because the number is not finite or the product may overflow; `None` if neither
/// holds.
fn product_special(
    x: Number,
    factor: f64,
    dtype: DataType,
    (magnitude, error): (f64, f64),
) -> Option<Special> {
    let format = Format::of(dtype);
    if x.is_finite() && magnitude.mul_add(factor.abs().max(1.0), error) <= format.max {
        return None;
    }
    let mut terms = Terms::default();
    terms.product(x, Number { value: factor, error: 0.0 });
    let overflow = || Some(Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER)));
    terms.sum(format).or_else(overflow)
}

pub fn sigmoid(x: &Value, arithmetic: Arithmetic) -> Value {
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    let elements: Vec<f64> = x.elements.iter().map(|x| logistic(*x)).collect();
    let error = |(place, element): (usize, &f64)| {
        let (center, error) = (x.elements[place], x.error_at(place));
        if error == f64::INFINITY {
            return f64::INFINITY;
        }
        let propagated = (logistic(center + error) - element).max(element - logistic(center - error));
        propagated + arithmetic.error(x.dtype, SIGMOID_ROUNDINGS, 1.0, element + propagated)
    };
    let magnitude = elements.clone();
    let mut value =
        Value::computed((x.dtype, x.format), x.shape.clone(), elements, magnitude, None, |elements, _| {
            elements.iter().enumerate().map(error).collect()
        });
    let nan = x
        .elements
        .iter()
        .enumerate()
        .filter(|(place, element)| element.is_nan() && x.error_at(*place) == 0.0);
    value.settle(nan.map(|(place, _)| (place, Special::Settled(f64::NAN))).collect::<Vec<_>>());
    value
}

pub fn hard_swish(x: &Value, arithmetic: Arithmetic) -> (Value, Vec<&'static Entry>) {
    /// The largest slope, at 3.
    const SLOPE: f64 = 1.5;
    let swish = |x: f64| x * (x / 6.0 + 0.5).clamp(0.0, 1.0);
    // the function that ONNX defines it by multiplies x with a HardSigmoid, which is a tensor of the type of x
    let factor_rounding = |magnitude: f64, result: f64| {
        let format = arithmetic.format(x.dtype);
        format.unit_roundoff() * result + arithmetic.underflow(format) * magnitude
    };
    let own_error = |magnitude: f64, result: f64| {
        let rounding = factor_rounding(magnitude, result);
        rounding + arithmetic.error(x.dtype, HARD_SWISH_ROUNDINGS, magnitude, result + rounding)
    };
    let error = |(place, element): (usize, &f64)| {
        let propagated = SLOPE * x.error_at(place);
        propagated + own_error(x.largest_at(place), element.abs() + propagated)
    };
    let magnitude = (0..x.elements.len()).map(|place| x.magnitude_at(place)).collect();
    let elements = x.elements.iter().map(|x| swish(*x)).collect();
    let shape = x.shape.clone();
    let mut value = Value::computed((x.dtype, x.format), shape, elements, magnitude, None, |elements, _| {
        elements.iter().enumerate().map(error).collect()
    });
    let decided = (0..x.elements.len()).filter_map(|place| {
        let number = x.number(place);
        let is_open = number.value.is_nan() || number.value == f64::NEG_INFINITY;
        let open = is_open.then_some(Special::Open(Some(&rules::ACTIVATION_OF_NON_FINITE)));
        let own = own_error(x.largest_at(place), x.largest_at(place));
        let bounds = (x.magnitude_at(place), SLOPE.mul_add(number.error, own));
        Some((place, open.or_else(|| product_special(number, 1.0, x.dtype, bounds))?))
    });
    let touched = value.settle(decided.collect::<Vec<_>>());
    (value, touched)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most roundings that a Sigmoid of `x` takes with CUDA's `__expf` and `__fdividef`.
    fn roundings_of_fast_functions(x: f64) -> f64 {
        const PER_UNIT: f64 = 2.0;
        let exponential = (-x).exp();
        let units_of_exponential = 2.0 + (1.173 * x).abs().floor();
        let sum = exponential / (1.0 + exponential) * units_of_exponential * PER_UNIT + 1.0;
        let quotient = 2.0 * PER_UNIT;
        (sum + quotient) / (1.0 + exponential)
    }

    #[test]
    fn fast_functions_of_cuda_compute_a_sigmoid_within_its_bound() {
        let most =
            (-8700..=8700).map(|x| roundings_of_fast_functions(f64::from(x) / 100.0)).fold(0.0, f64::max);
        assert!((5.0..=6.0).contains(&most), "{most}");
        assert!(2.0 * most < SIGMOID_ROUNDINGS);
    }
}
