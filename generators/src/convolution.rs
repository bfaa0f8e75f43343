//! The weights and the bias of a convolution, as numbers or as integers.

use twinfer_case::Regime;
use twinfer_onnx::{DataType, Tensor};

use crate::{
    Choices, Quantizer, ZeroPoint,
    exact::{Ahead, Grid},
    forms::{BiasForm, Forms},
    layer::Layer,
    parameters::{Knowledge, Parameters, mantissa},
    power::power_of_two,
    tensors::{made, on_grid},
    weights::{Scheme, Weights, spread_out},
};

/// The weights and the bias of a convolution.
pub struct Convolution {
    pub weights: Drawn,
    pub bias: Option<Drawn>,
}

/// A parameter.
pub enum Drawn {
    Numbers(Tensor),
    Integers(Quantized),
}

/// A parameter as integers, with the inputs and attributes of its quantizer and dequantizer.
pub struct Quantized {
    pub quantization: Quantization,
    pub integers: Tensor,
    /// The numbers that round to the integers.
    pub numbers: Tensor,
}

/// The inputs and the axis of `QuantizeLinear` and `DequantizeLinear`.
pub struct Quantization {
    /// The axis along which scales differ.
    pub axis: Option<usize>,
    pub scale: Tensor,
    /// `None` leaves it out.
    pub zero_point: Option<Tensor>,
}

/// The integers of a parameter, and one scale per position along the axis.
struct Scaled {
    axis: Option<usize>,
    quantizer: Quantizer,
    scales: Vec<f64>,
    zero_points: Vec<i64>,
    /// The integers minus the zero point.
    levels: Vec<i64>,
    /// The numbers that round to the levels, in steps of the scale.
    unrounded: Vec<f64>,
}

/// The largest integer of a bias: single precision holds all of them.
const LARGEST_BIAS: f64 = (1 << 20) as f64;

const HUNDREDTHS: usize = 100;

impl Scaled {
    /// The position along the axis of an element of a tensor of this shape.
    fn channel(&self, shape: &[usize], element: usize) -> usize {
        self.axis.map_or(0, |axis| element / shape[axis + 1..].iter().product::<usize>() % shape[axis])
    }

    /// The numbers that the integers represent, in a tensor of this shape.
    fn values(&self, shape: &[usize]) -> Vec<f64> {
        let value =
            |(element, level): (usize, &i64)| *level as f64 * self.scales[self.channel(shape, element)];
        self.levels.iter().enumerate().map(value).collect()
    }

    /// The levels of a bias, with one scale or one per output channel.
    fn of_bias(mut scales: Vec<f64>, levels: Vec<i64>, per_output: bool) -> Self {
        scales.truncate(if per_output { levels.len() } else { 1 });
        Self {
            axis: per_output.then_some(0),
            quantizer: Quantizer { dtype: DataType::Int32, zero_point: ZeroPoint::Absent },
            zero_points: vec![0; scales.len()],
            unrounded: levels.iter().map(|level| *level as f64).collect(),
            scales,
            levels,
        }
    }

    /// The levels of weights that round to integers on a grid: most weights lie between integers, some half-way, and
    /// those at the end of the range may come from beyond it.
    fn of_grid(weights: Weights, exponent: i32, scheme: Scheme, choices: &mut Choices) -> Self {
        let unrounded = weights.levels.iter().enumerate().map(|(element, level)| {
            let (least, greatest) = scheme.quantizer.levels(weights.zero_points[weights.channel(element)]);
            let beyond = *choices.one_of(&[0.0, 0.25, 1.5, 40.0]);
            let half = if level % 2 == 0 { 0.5 } else { 0.25 };
            let between = *choices.one_of(&[0.0, 0.25, -0.25, half, -half]);
            *level as f64
                + match *level {
                    level if level == greatest => beyond,
                    level if level == least => -beyond,
                    _ => between,
                }
        });
        Self {
            axis: scheme.axis,
            quantizer: scheme.quantizer,
            unrounded: unrounded.collect(),
            scales: weights.shifts.iter().map(|shift| power_of_two(exponent + *shift as i32)).collect(),
            zero_points: weights.zero_points,
            levels: weights.levels,
        }
    }
}

impl Parameters {
    /// Draws the weights and the bias of `layer`. `input_scale` is the scale of its input; `None` if the input is not
    /// dequantized.
    pub fn convolution(
        &self,
        layer: &Layer,
        forms: Forms,
        ahead: Ahead,
        input: (&mut Knowledge, Option<f64>),
        choices: &mut Choices,
    ) -> Convolution {
        match (input, forms.weights) {
            ((Knowledge::Grid(grid), _), _) => self.exact(layer, forms, ahead, grid, choices),
            ((Knowledge::Magnitude(magnitude), _), None) => {
                let (weights, bias) = self.rounding(layer, forms.bias.is_some(), choices);
                *magnitude *= largest(&deviations(layer, &weights.to_f64()));
                Convolution { weights: Drawn::Numbers(weights), bias: bias.map(Drawn::Numbers) }
            }
            ((Knowledge::Magnitude(magnitude), input_scale), Some(scheme)) => {
                let levels = self.levels(layer, scheme, choices);
                let deviations = deviations(layer, &levels.values(&layer.weight_shape()));
                let sums: Vec<_> = deviations.iter().map(|deviation| deviation * *magnitude).collect();
                let input_scale = input_scale.unwrap_or(*magnitude / 127.0);
                let channels = vec![layer.output_channels()];
                let bias = forms.bias.map(|form| {
                    let offsets = self.bias(&sums, choices);
                    match form {
                        BiasForm::Numbers => Drawn::Numbers(made(self.dtype, channels, &offsets)),
                        BiasForm::Integers => {
                            let levels = self.bias_levels(layer, &levels, input_scale, &offsets);
                            Drawn::Integers(self.quantized(channels, &levels))
                        }
                    }
                });
                *magnitude = largest(&sums);
                let weights = Drawn::Integers(self.quantized(layer.weight_shape(), &levels));
                Convolution { weights, bias }
            }
        }
    }

    fn exact(
        &self,
        layer: &Layer,
        forms: Forms,
        ahead: Ahead,
        grid: &mut Grid,
        choices: &mut Choices,
    ) -> Convolution {
        let drawn = self.budget.convolution(layer, forms, ahead, grid, choices);
        let step = power_of_two(drawn.bias_exponent);
        let offsets: Vec<_> =
            drawn.bias.iter().map(|bias| (bias.level << bias.shift) as f64 * step).collect();
        let channels = vec![layer.output_channels()];
        let bias = forms.bias.map(|form| match form {
            BiasForm::Numbers => Drawn::Numbers(made(self.dtype, channels, &offsets)),
            BiasForm::Integers => {
                let scales = drawn.bias.iter().map(|bias| (1_u64 << bias.shift) as f64 * step).collect();
                let levels = drawn.bias.iter().map(|bias| bias.level).collect();
                let levels = Scaled::of_bias(scales, levels, forms.is_per_output(layer));
                Drawn::Integers(self.quantized(channels, &levels))
            }
        });
        let weights = match forms.weights {
            None => {
                let levels = &drawn.weights.levels;
                Drawn::Numbers(on_grid(self.dtype, layer.weight_shape(), levels, drawn.weight_exponent))
            }
            Some(scheme) => {
                let levels = Scaled::of_grid(drawn.weights, drawn.weight_exponent, scheme, choices);
                Drawn::Integers(self.quantized(layer.weight_shape(), &levels))
            }
        };
        Convolution { weights, bias }
    }

    fn rounding(&self, layer: &Layer, biased: bool, choices: &mut Choices) -> (Tensor, Option<Tensor>) {
        let inputs = self.regime();
        // as many decades of weights as of inputs, in some cases
        let regime = match inputs {
            Regime::WideRange if choices.percent(50) => Regime::WideRange,
            _ => Regime::Gaussian,
        };
        // about 1/sqrt(taps), so that deep sums keep the magnitude of their inputs
        let scale = power_of_two(-(layer.taps().ilog2() as i32) / 2);
        let weights = self.draw(layer.weight_shape(), regime, choices);
        let weights = made(self.dtype, weights.shape.clone(), &scaled(&weights.to_f64(), scale));
        let bias = biased.then(|| {
            // of the inputs' magnitudes, and not drowned by the sums in every channel
            let drawn = self.draw(vec![layer.output_channels()], inputs, choices).to_f64();
            made(self.dtype, vec![drawn.len()], &with_a_large_one(drawn, self.largest_input(), choices))
        });
        (weights, bias)
    }

    /// Normally distributed numbers of which the largest saturate; several scales spread over two decades.
    fn levels(&self, layer: &Layer, scheme: Scheme, choices: &mut Choices) -> Scaled {
        let shape = layer.weight_shape();
        let extent = scheme.axis.map_or(1, |axis| shape[axis]);
        let typical = mantissa(choices) / (40.0 * (layer.taps() as f64).sqrt());
        let decades = spread_out(extent, 2 * HUNDREDTHS, choices);
        let scales = decades.into_iter().map(|hundredths| {
            let decades = if extent > 1 { hundredths as f64 / HUNDREDTHS as f64 - 2.0 } else { 0.0 };
            self.scale(typical * 10_f64.powf(decades))
        });
        let mut levels = Scaled {
            axis: scheme.axis,
            quantizer: scheme.quantizer,
            scales: scales.collect(),
            zero_points: (0..extent).map(|_| scheme.quantizer.zero_point(choices)).collect(),
            levels: vec![],
            unrounded: scaled(&self.draw(shape.clone(), Regime::Gaussian, choices).to_f64(), 42.0),
        };
        levels.levels = (0..levels.unrounded.len())
            .map(|place| {
                let (least, greatest) =
                    scheme.quantizer.levels(levels.zero_points[levels.channel(&shape, place)]);
                (levels.unrounded[place].round_ties_even() as i64).clamp(least, greatest)
            })
            .collect();
        levels
    }

    /// A bias about as large as the sums that it is added to, channel by channel.
    fn bias(&self, sums: &[f64], choices: &mut Choices) -> Vec<f64> {
        let normal = self.draw(vec![sums.len()], Regime::Gaussian, choices).to_f64();
        let normal = with_a_large_one(normal, 1.0, choices);
        normal.iter().zip(sums).map(|(normal, sum)| normal * sum).collect()
    }

    /// The integers nearest to `offsets`, in steps of `input_scale` times the weights' scale.
    fn bias_levels(&self, layer: &Layer, weights: &Scaled, input_scale: f64, offsets: &[f64]) -> Scaled {
        let per_output = weights.axis == Some(layer.output_axis());
        let channel = |output| if per_output { layer.place_of_output(output) } else { 0 };
        let scale = |output| self.scale(input_scale * weights.scales[channel(output)]);
        let scales: Vec<_> = (0..offsets.len()).map(scale).collect();
        let level = |(offset, scale): (&f64, &f64)| {
            (offset / scale).round_ties_even().clamp(-LARGEST_BIAS, LARGEST_BIAS) as i64
        };
        let levels = offsets.iter().zip(&scales).map(level).collect();
        Scaled::of_bias(scales, levels, per_output)
    }

    /// Draws the tensors of a parameter of this shape.
    fn quantized(&self, shape: Vec<usize>, levels: &Scaled) -> Quantized {
        let along = levels.axis.map_or(vec![], |axis| vec![shape[axis]]);
        let places = || (0..levels.levels.len()).map(|place| (place, levels.channel(&shape, place)));
        let integers: Vec<_> = places()
            .map(|(place, channel)| (levels.levels[place] + levels.zero_points[channel]) as f64)
            .collect();
        let numbers: Vec<_> =
            places().map(|(place, channel)| levels.unrounded[place] * levels.scales[channel]).collect();
        let quantization = Quantization {
            axis: levels.axis,
            scale: made(self.dtype, along.clone(), &levels.scales),
            zero_point: levels.quantizer.tensor(along, &levels.zero_points),
        };
        Quantized {
            quantization,
            integers: made(levels.quantizer.dtype, shape.clone(), &integers),
            numbers: made(self.dtype, shape, &numbers),
        }
    }
}

/// The deviation of the sums of each output channel, for inputs of deviation one.
fn deviations(layer: &Layer, weights: &[f64]) -> Vec<f64> {
    let mut squares = vec![0.0; layer.output_channels()];
    for (element, weight) in weights.iter().enumerate() {
        squares[layer.output_channel_of(element)] += weight * weight;
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// Raises the magnitude of one of the numbers, chosen at random, to at least `size`.
fn with_a_large_one(mut numbers: Vec<f64>, size: f64, choices: &mut Choices) -> Vec<f64> {
    let place = choices.below(numbers.len());
    let number = &mut numbers[place];
    *number = number.abs().max(size * mantissa(choices)).copysign(*number);
    numbers
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}

fn scaled(numbers: &[f64], factor: f64) -> Vec<f64> {
    numbers.iter().map(|number| number * factor).collect()
}
