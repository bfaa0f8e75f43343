use twinfer_onnx::DataType;

use crate::{
    Arithmetic,
    arithmetic::ErrorModel as _,
    elementwise::{integer_range, open_where_nan},
    format::Format,
    reduction::{Choice, Padding},
    rules::{self, Entry},
    semantics::Surroundings,
    taps::{Direction, Fill, Reach, Taps},
    value::Value,
};

/// The number that each window finds besides its elements, by its position; only mutants have one.
pub fn extra<'a>(
    semantics: Surroundings,
    reaches: &[Reach],
    taps: &'a Taps,
    dtype: DataType,
    fill: Option<Fill>,
) -> impl Fn(usize) -> Option<f64> + use<'a> {
    let lowest = integer_range(dtype).map_or_else(|| -Format::of(dtype).max, |(lowest, _)| lowest);
    let last = Taps::of(&reaches[reaches.len().saturating_sub(1)..], Direction::Gather);
    let is_cut = |taps: &Taps, position: usize| taps.at(position).len() < taps.kernel_len();
    move |position| match semantics {
        Surroundings::PoolPaddingZero => is_cut(taps, position).then_some(0.0),
        Surroundings::PoolPaddingLowest => is_cut(&last, position % last.len()).then_some(lowest),
        Surroundings::PoolFromLowest => Some(lowest),
        _ => fill.filter(|_| is_cut(taps, position)).map(Fill::number),
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

/// One number of each window, as `choice` says: only mutants of `MaxPool` give something else than the maximum.
pub fn reduce(
    x: &Value,
    taps: &Taps,
    shape: Vec<usize>,
    (choice, padding): (Choice, Padding),
    arithmetic: Arithmetic,
) -> Value {
    let channels = x.shape[0] * x.shape[1];
    let (mut elements, mut magnitude, mut error) = (Vec::new(), Vec::new(), Vec::new());
    for channel in 0..channels {
        for position in 0..taps.len() {
            let window = window(taps, position, padding);
            let place = |tap: &Option<usize>| tap.map(|input| channel * taps.input_len() + input);
            let places: Vec<_> = window.iter().map(place).collect();
            let element = |place: &Option<usize>| place.map_or(0.0, |place| x.elements[place]);
            let reduced = choice.of(places.iter().map(element));
            let largest = places.iter().flatten().map(|place| x.largest_at(*place)).fold(0.0, f64::max);
            let own = places.iter().flatten().map(|place| x.error_at(*place)).fold(0.0, f64::max);
            let rounding = match choice {
                Choice::Mean => arithmetic.error(x.dtype, places.len() as f64, largest, reduced.abs()),
                _ => 0.0,
            };
            elements.push(reduced);
            magnitude.push(largest);
            error.push(own + rounding);
        }
    }
    let error = error.iter().any(|error| *error > 0.0).then_some(error);
    let grid = x.grid.filter(|_| error.is_none());
    Value { shape, elements, magnitude: Some(magnitude), error, grid, has_signed_zeros: false, ..x.clone() }
}

/// The input positions of a window; `None` for those outside of the data, unless they are left out.
fn window(taps: &Taps, position: usize, padding: Padding) -> Vec<Option<usize>> {
    match padding {
        Padding::Ignored => taps.at(position).iter().map(|(input, _)| Some(*input)).collect(),
        Padding::Zero => {
            let mut window = vec![None; taps.kernel_len()];
            for (input, kernel) in taps.at(position) {
                window[*kernel] = Some(*input);
            }
            window
        }
    }
}

impl Choice {
    /// The number that it makes of a window; zero if there is none.
    fn of(self, window: impl ExactSizeIterator<Item = f64> + DoubleEndedIterator) -> f64 {
        let count = window.len();
        let mut window = window;
        match self {
            Self::Least => window.reduce(f64::min),
            Self::First => window.next(),
            Self::Last => window.next_back(),
            Self::Mean => window.reduce(|sum, x| sum + x).map(|sum| sum / count as f64),
            Self::LargestMagnitude => {
                window.reduce(|largest, x| if x.abs() > largest.abs() { x } else { largest })
            }
        }
        .unwrap_or(0.0)
    }
}

fn nan_or_max(largest: f64, x: f64) -> f64 {
    if largest.is_nan() || x.is_nan() { f64::NAN } else { largest.max(x) }
}
