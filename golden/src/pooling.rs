use twinfer_onnx::{Axis, DataType};

use crate::{
    Arithmetic,
    arithmetic::ErrorModel as _,
    elementwise::{integer_range, open_where_nan},
    format::Format,
    grid::Grid,
    reduction::{Choice, Padding},
    rules::{self, Entry},
    semantics::Surroundings,
    special::{Number, Special, Terms},
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

/// The elements that each position of an average covers, the same for all channels.
pub struct Windows {
    /// Of each position: the places of its elements among the positions of the input.
    pub places: Vec<Vec<usize>>,
    /// Of each position: how many elements its sum is divided by.
    pub divisors: Vec<usize>,
    /// How many positions the input has.
    pub input_len: usize,
}

impl Windows {
    /// All positions of an input as one window.
    pub fn all(input_len: usize) -> Self {
        Self { places: vec![(0..input_len).collect()], divisors: vec![input_len], input_len }
    }

    /// The windows of `taps`; the padding counts as zeros if `counts_padding`.
    pub fn of(taps: &Taps, axes: &[Axis], counts_padding: bool) -> Self {
        let places: Vec<Vec<usize>> = (0..taps.len())
            .map(|position| taps.at(position).iter().map(|(input, _)| *input).collect())
            .collect();
        let divisors =
            if counts_padding { padded_counts(axes) } else { places.iter().map(Vec::len).collect() };
        Self { places, divisors, input_len: taps.input_len() }
    }
}

/// How many positions of the padded input each window covers.
fn padded_counts(axes: &[Axis]) -> Vec<usize> {
    axes.iter().fold(vec![1], |outer, axis| {
        let padded = axis.input + axis.pad_begin + axis.pad_end.unsigned_abs();
        let taps =
            |output: usize| (0..axis.kernel).map(move |tap| output * axis.stride + tap * axis.dilation);
        let along: Vec<_> =
            (0..axis.output).map(|output| taps(output).filter(|place| *place < padded).count()).collect();
        outer.iter().flat_map(|outer| along.iter().map(move |count| outer * count)).collect()
    })
}

/// The average over each window, as a tensor of shape [N, C, d…].
pub fn average(
    x: &Value,
    windows: &Windows,
    shape: Vec<usize>,
    arithmetic: Arithmetic,
) -> (Value, Vec<&'static Entry>) {
    /// Roundings of the quotient, or of a reciprocal and the product with it.
    const OF_QUOTIENT: f64 = 2.0;
    let channels = x.shape[0] * x.shape[1];
    let positions = || windows.places.iter().zip(&windows.divisors);
    let over_windows = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let mean = |channel: usize, (places, divisor): (&Vec<usize>, &usize)| {
            let sum: f64 = places.iter().map(|place| of(channel * windows.input_len + place)).sum();
            sum / *divisor as f64
        };
        (0..channels).flat_map(|channel| positions().map(move |window| mean(channel, window))).collect()
    };
    let propagated = over_windows(&|place| x.error_at(place));
    let lengths: Vec<_> = windows.places.iter().map(|places| places.len() as f64).collect();
    let error = |place: usize, element: f64, magnitude: f64| {
        let roundings = lengths[place % lengths.len()] + OF_QUOTIENT;
        let own = propagated[place];
        own + arithmetic.error(x.dtype, roundings, magnitude + own, element.abs() + own)
    };
    let reciprocals: Vec<_> = windows.divisors.iter().map(|divisor| 1.0 / *divisor as f64).collect();
    let is_exact = windows.divisors.iter().all(|divisor| divisor.is_power_of_two());
    let grid = x.grid.zip(Grid::of(&reciprocals)).map(|(x, factor)| x.times(factor)).filter(|_| is_exact);
    let magnitude = over_windows(&|place| x.magnitude_at(place));
    let mut averaged = Value::computed(
        (x.dtype, x.format),
        shape,
        over_windows(&|place| x.elements[place]),
        magnitude.clone(),
        grid,
        |elements, magnitude| {
            let places = elements.iter().zip(magnitude).enumerate();
            places.map(|(place, (element, magnitude))| error(place, *element, *magnitude)).collect()
        },
    );
    let format = Format::of(x.dtype);
    let special = |place: usize| {
        let (channel, position) = (place / lengths.len(), place % lengths.len());
        let (places, divisor) = (&windows.places[position], windows.divisors[position] as f64);
        if divisor == 0.0 {
            return Some(Special::Open(Some(&rules::AVERAGE_OF_PADDING)));
        }
        let numbers = || places.iter().map(|place| x.number(channel * windows.input_len + place));
        let sum = (magnitude[place] + propagated[place]) * divisor * (1.0 + format.unit_roundoff() * divisor);
        if numbers().all(Number::is_finite) && sum <= format.max {
            return None;
        }
        let mut terms = Terms::default();
        numbers().for_each(|number| terms.number(number));
        // the sum overflows, unless it is kept in a wider type or divided before it is complete
        terms.sum(format).or(Some(Special::Open(Some(&rules::OVERFLOW_IN_SOME_ORDER))))
    };
    let decided = (0..averaged.elements.len()).filter_map(|place| Some((place, special(place)?)));
    let decided: Vec<_> = decided.collect();
    let touched = averaged.settle(decided);
    (averaged, touched)
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
