use crate::{
    Algorithms, Arithmetic,
    arithmetic::ErrorModel as _,
    format::Format,
    grid::Grid,
    rules::{self, Entry},
    special::{Number, Special, Terms},
    value::Value,
};

/// Roundings between x and the result: adding epsilon, the square root and the division (two each for approximate
/// ones), the multiplication, the difference, the sum, and folding scale and bias into a convolution before it.
const ROUNDINGS: f64 = 12.0;

/// The parameters of BatchNormalization, with one value per channel each.
pub struct Parameters<'a> {
    pub scale: &'a Value,
    pub bias: &'a Value,
    pub mean: &'a Value,
    pub variance: &'a Value,
    pub epsilon: f64,
}

/// The factor of one channel, and the error that the parameters' errors allow in a backend's factor.
struct Factor {
    value: f64,
    error: f64,
}

impl Parameters<'_> {
    fn deviation(&self, channel: usize) -> f64 {
        (self.variance.elements[channel] + self.epsilon).sqrt()
    }

    /// What is decided on all elements of a channel because a parameter is out of range; `None` if none is.
    fn special(&self, channel: usize) -> Option<Special> {
        let numbers = [self.scale, self.bias, self.mean, self.variance].map(|one| one.number(channel));
        if numbers.iter().any(|number| !number.value.is_finite()) {
            return Some(Special::Open(Some(&rules::NORMALIZED_NON_FINITE)));
        }
        if numbers.iter().any(|number| !number.is_finite()) {
            return Some(Special::Open(None));
        }
        let is_positive = self.variance.elements[channel] + self.epsilon > 0.0;
        (!is_positive).then_some(Special::Open(Some(&rules::VARIANCE_NOT_POSITIVE)))
    }

    fn factor(&self, channel: usize) -> Factor {
        let scale = self.scale.elements[channel];
        let value = scale / self.deviation(channel);
        let (scale_error, variance_error) = (self.scale.error_at(channel), self.variance.error_at(channel));
        if scale_error == 0.0 && variance_error == 0.0 {
            return Factor { value, error: 0.0 };
        }
        let smallest = (self.variance.elements[channel] - variance_error + self.epsilon).max(0.0).sqrt();
        Factor { value, error: (scale.abs() + scale_error) / smallest - value.abs() }
    }

    #[expect(clippy::float_cmp, reason = "whether the square root is exact is the question")]
    /// The grid of the factors if every correctly rounded root and quotient is exact, that is, if deviations are powers of two;
    /// `None` otherwise.
    fn factor_grid(&self) -> Option<Grid> {
        self.scale.grid?;
        self.variance.grid?;
        let channels = 0..self.scale.elements.len();
        let factors = channels.map(|channel| {
            let deviation = self.deviation(channel);
            let is_power_of_two =
                deviation.is_normal() && deviation.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1;
            let is_exact =
                is_power_of_two && deviation * deviation == self.variance.elements[channel] + self.epsilon;
            is_exact.then(|| self.scale.elements[channel] / deviation)
        });
        Grid::of(&factors.collect::<Option<Vec<_>>>()?)
    }
}

/// What is decided on the element of `x` at `place` because it is not finite; `None` if it is.
///
/// `shift` is the magnitude of what is added to the product of the element and the factor: the bias and the scaled mean.
fn special(x: &Value, place: usize, factor: &Factor, bias: Number, shift: f64) -> Option<Special> {
    let number = x.number(place);
    if number.is_finite() {
        return None;
    }
    let mut terms = Terms::default();
    terms.product(number, Number { value: factor.value, error: factor.error });
    terms.number(bias);
    let format = Format::of(x.dtype);
    let special = terms.sum(format)?;
    // backends fold the mean into the bias and the factor into the terms of a sum, which may overflow against the infinity
    let keeps_terms = x.magnitude.is_none() || factor.value.abs() + factor.error <= 1.0;
    let is_folded_finite = 2.0 * shift <= format.max && keeps_terms;
    match special {
        Special::Settled(value) if value.is_infinite() && !is_folded_finite => {
            Some(Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER)))
        }
        special => Some(special),
    }
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias`, channel by channel.
pub fn batch_normalization(
    x: &Value,
    parameters: &Parameters,
    arithmetic: Arithmetic,
) -> (Value, Vec<&'static Entry>) {
    let channels = x.shape[1];
    let positions: usize = x.shape[2..].iter().product();
    let channel_of = |place: usize| place / positions % channels;
    let factors: Vec<Factor> = (0..channels).map(|channel| parameters.factor(channel)).collect();
    let (mean, bias) = (parameters.mean, parameters.bias);

    let places = 0..x.elements.len();
    let elements = places.clone().map(|place| {
        let channel = channel_of(place);
        (x.elements[place] - mean.elements[channel]) * factors[channel].value + bias.elements[channel]
    });
    let magnitude = places.map(|place| {
        let channel = channel_of(place);
        let centered = x.magnitude_at(place) + mean.elements[channel].abs();
        centered * factors[channel].value.abs() + bias.elements[channel].abs()
    });
    let is_direct = arithmetic.algorithms == Algorithms::Direct;
    let factor_grid = parameters.factor_grid().filter(|_| is_direct);
    let grid = (|| Some(x.grid?.and(mean.grid?).times(factor_grid?).and(bias.grid?)))();
    let shape = x.shape.clone();
    let mut normalized = Value::computed(
        (x.dtype, x.format),
        shape,
        elements.collect(),
        magnitude.collect(),
        grid,
        |elements, magnitude| {
            let error = |(place, (element, magnitude)): (usize, (&f64, &f64))| {
                let channel = channel_of(place);
                let factor = &factors[channel];
                let centered = x.magnitude_at(place) + mean.elements[channel].abs();
                let centered_error = x.error_at(place) + mean.error_at(channel);
                // backends may multiply by the scale before they divide
                let scaled = (centered + centered_error) * parameters.scale.elements[channel].abs().max(1.0);
                if scaled > x.format.max {
                    return f64::INFINITY;
                }
                let propagated = (factor.value.abs() + factor.error) * centered_error
                    + factor.error * centered
                    + bias.error_at(channel);
                let (magnitude, result) = (magnitude + propagated, element.abs() + propagated);
                let of_factor = ROUNDINGS * arithmetic.underflow(x.format) * centered;
                propagated + of_factor + arithmetic.error(x.dtype, ROUNDINGS, magnitude, result)
            };
            elements.iter().zip(magnitude).enumerate().map(error).collect()
        },
    );
    let of_channels: Vec<_> = (0..channels).map(|channel| parameters.special(channel)).collect();
    let decided = (0..x.elements.len()).filter_map(|place| {
        let channel = channel_of(place);
        let factor = &factors[channel];
        let shift = (mean.elements[channel] * factor.value).abs() + bias.elements[channel].abs();
        let of_element = || special(x, place, factor, bias.number(channel), shift);
        Some((place, of_channels[channel].or_else(of_element)?))
    });
    let touched = normalized.settle(decided.collect::<Vec<_>>());
    (normalized, touched)
}
