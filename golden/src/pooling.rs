use twinfer_onnx::DataType;

use crate::{
    elementwise::{integer_range, open_where_nan},
    rules::{self, Entry},
    taps::Taps,
    value::Value,
};

/// The maximum over each window, as a tensor of shape [N, C, d…], the open points of all windows, and those of single ones; where `zero_padding`, as only a mutant has it, windows
/// that reach beyond the input find zeros there.
pub fn max_pool(
    x: &Value,
    taps: &Taps,
    shape: Vec<usize>,
    zero_padding: bool,
) -> (Value, Vec<&'static Entry>, Vec<&'static Entry>) {
    let channels = x.shape[0] * x.shape[1];
    let lowest = integer_range(x.dtype).map_or(f64::NEG_INFINITY, |(lowest, _)| lowest);
    let over_windows = |start: f64, of: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let mut maxima = Vec::with_capacity(channels * taps.len());
        for channel in 0..channels {
            for position in 0..taps.len() {
                let window =
                    taps.at(position).iter().map(|(input, _)| of(channel * taps.input_len() + input));
                let is_padded = zero_padding && taps.at(position).len() < taps.kernel_len();
                maxima.push(window.fold(if is_padded { start.max(0.0) } else { start }, nan_or_max));
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
        shape,
        elements: over_windows(lowest, &|place| x.elements[place]),
        magnitude: Some(over_windows(0.0, &|place| x.magnitude_at(place))),
        // the error of the maximum is at most the largest error of an element
        error: x.error.as_ref().map(|error| over_windows(0.0, &|place| error[place])),
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
