use twinfer_onnx::DataType;

use crate::{
    elementwise::{integer_range, open_where_nan},
    format::Format,
    rules::{self, Entry},
    semantics::Surroundings,
    taps::{Direction, Reach, Taps},
    value::Value,
};

/// The number that each window finds besides its elements, by its position; only mutants have one.
pub fn extra<'a>(
    semantics: Surroundings,
    reaches: &[Reach],
    taps: &'a Taps,
    dtype: DataType,
) -> impl Fn(usize) -> Option<f64> + use<'a> {
    let lowest = integer_range(dtype).map_or_else(|| -Format::of(dtype).max, |(lowest, _)| lowest);
    let last = Taps::of(&reaches[reaches.len().saturating_sub(1)..], Direction::Gather);
    let is_cut = |taps: &Taps, position: usize| taps.at(position).len() < taps.kernel_len();
    move |position| match semantics {
        Surroundings::PoolPaddingZero => is_cut(taps, position).then_some(0.0),
        Surroundings::PoolPaddingLowest => is_cut(&last, position % last.len()).then_some(lowest),
        Surroundings::PoolFromLowest => Some(lowest),
        _ => None,
    }
}

/// The maximum over each window, as a tensor of shape [N, C, d…], the open points of all windows, and those of single ones.
pub fn max_pool(
    x: &Value,
    taps: &Taps,
    shape: Vec<usize>,
    extra: impl Fn(usize) -> Option<f64>,
) -> (Value, Vec<&'static Entry>, Vec<&'static Entry>) {
    let channels = x.shape[0] * x.shape[1];
    let lowest = integer_range(x.dtype).map_or(f64::NEG_INFINITY, |(lowest, _)| lowest);
    let over_windows =
        |start: f64, of: &dyn Fn(usize) -> f64, besides: &dyn Fn(usize) -> Option<f64>| -> Vec<f64> {
            let mut maxima = Vec::with_capacity(channels * taps.len());
            for channel in 0..channels {
                for position in 0..taps.len() {
                    let window =
                        taps.at(position).iter().map(|(input, _)| of(channel * taps.input_len() + input));
                    maxima.push(window.chain(besides(position)).fold(start, nan_or_max));
                }
            }
            maxima
        };
    let mut touched = Vec::new();
    let is_empty = (0..taps.len()).any(|position| taps.at(position).is_empty());
    if is_empty {
        touched.push(&rules::WINDOW_OF_PADDING);
    }
    let mut pooled = Value {
        dtype: x.dtype,
        format: x.format,
        shape,
        elements: over_windows(lowest, &|place| x.elements[place], &extra),
        magnitude: Some(over_windows(0.0, &|place| x.magnitude_at(place), &|_| None)),
        // the error of the maximum is at most the largest error of an element
        error: x.error.as_ref().map(|error| over_windows(0.0, &|place| error[place], &|_| None)),
        grid: if is_empty && x.dtype != DataType::Int8 && x.dtype != DataType::Uint8 { None } else { x.grid },
        quantization_step: x.quantization_step.filter(|_| !is_empty),
        has_signed_zeros: false,
    };
    let nan = open_where_nan(&pooled, &rules::MAX_OF_NAN).collect::<Vec<_>>();
    let open = pooled.settle(nan);
    (pooled, touched, open)
}

fn nan_or_max(largest: f64, x: f64) -> f64 {
    if largest.is_nan() || x.is_nan() { f64::NAN } else { largest.max(x) }
}
