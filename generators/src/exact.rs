//! The exact regime: integers times a power of two, within a budget that no sum of products exceeds.
//!
//! A tensor lies on a [`Grid`]. Each operator makes the grid finer or its bound larger, and what it does is decided
//! when its parameters are drawn: so every operand, every partial sum in whatever order, and every result is a
//! multiple of the grid's step that the format holds exactly.

use twinfer_case::Regime;
use twinfer_onnx::DataType;

use crate::{Choices, Neighbour, layer::Layer, parameters::Normalization};

/// Values are multiples of 2^`exponent` and at most `bound` steps from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub bound: u64,
    pub exponent: i32,
}

/// How far values may grow over the operators that are still to come.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Steps that the format holds exactly.
    capacity: u64,
    /// Exponents at which the smallest step is a normal number and the largest value is finite.
    exponents: (i32, i32),
    convolutions_ahead: u32,
    growth_ahead: u64,
}

/// What a convolution's sums may grow by, at the least; fewer nonzero weights would hardly be a convolution.
const LEAST_GAIN: u64 = 4;

impl Budget {
    /// For `convolutions` in a row in a format of this precision.
    ///
    /// Single precision keeps six of its 24 bits free: transforms that are not exact on integers, as Winograd's,
    /// then still round to the right grid point.
    pub fn new(precision: DataType, convolutions: usize) -> Self {
        let (capacity, exponents) = match precision {
            DataType::Float16 => (1 << 11, (-11, 3)),
            DataType::Bfloat16 => (1 << 8, (-60, 60)),
            _ => (1 << 18, (-60, 60)),
        };
        Self { capacity, exponents, convolutions_ahead: convolutions as u32, growth_ahead: 1 }
    }

    /// Whether `neighbour` fits beside the convolutions; if so its growth is kept for it.
    pub fn reserve(&mut self, neighbour: Neighbour) -> bool {
        let growth = self.growth_ahead * growth(neighbour);
        let fits = growth * LEAST_GAIN.pow(self.convolutions_ahead) <= self.capacity / 2;
        if fits {
            self.growth_ahead = growth;
        }
        fits
    }

    /// The grid of the case's input.
    pub fn input(&self, choices: &mut Choices) -> Grid {
        let most = root(self.capacity / self.growth_ahead, self.convolutions_ahead + 1);
        let bound = (*choices.one_of(&[2, 3, 5, 7, 8])).min(most).max(1);
        Grid { bound, exponent: self.step(0, choices) }
    }

    /// Weights and bias of `layer`, in steps of their grids, for an input on `grid`; `grid` becomes the output's.
    pub fn convolution(
        &mut self,
        layer: &Layer,
        biased: bool,
        grid: &mut Grid,
        choices: &mut Choices,
    ) -> Convolution {
        let gain = root(self.capacity / self.growth_ahead / grid.bound, self.convolutions_ahead).max(1);
        self.convolutions_ahead -= 1;
        let allowed = gain * grid.bound;
        let bias_limit = if biased { (allowed / 4).min(9) } else { 0 };
        let weights = weights(layer, (allowed - bias_limit) / grid.bound, choices);
        let exponent = self.step(grid.exponent, choices) - grid.exponent;
        let bias = (0..layer.output_channels()).map(|_| nonzero(bias_limit, choices)).collect();
        grid.bound = grid.bound * heaviest_output(layer, &weights) + bias_limit;
        grid.exponent += exponent;
        Convolution { weights, weight_exponent: exponent, bias, bias_exponent: grid.exponent }
    }

    /// Constants that are added to values on `grid`, in its steps.
    pub fn constants(&mut self, count: usize, grid: &mut Grid, choices: &mut Choices) -> Vec<i64> {
        let limit = self.addend(grid);
        (0..count).map(|_| nonzero(limit, choices)).collect()
    }

    /// The regime of a further input that is added to values on `grid`.
    pub fn added_input(&mut self, grid: &mut Grid) -> Regime {
        let exponent = grid.exponent;
        let limit = self.addend(grid);
        Regime::Exact { limit: limit as u32, exponent }
    }

    /// The grid of a sum, where it grows no further than was kept for it.
    pub fn residual(&mut self, grid: Grid, other: Grid) -> Option<Grid> {
        let exponent = grid.exponent.min(other.exponent);
        let bound = [grid, other]
            .iter()
            .map(|grid| grid.bound.checked_shl(grid.exponent.abs_diff(exponent)))
            .try_fold(0, |sum, bound| Some(sum + bound.filter(|bound| *bound <= self.capacity)?))?;
        let fits = bound <= grid.bound * growth(Neighbour::AddResidual);
        fits.then(|| {
            self.spend(Neighbour::AddResidual);
            Grid { bound, exponent }
        })
    }

    /// Parameters of a BatchNormalization: channel by channel a multiplier, by an exact root, and two offsets.
    pub fn normalization(
        &mut self,
        channels: usize,
        grid: &mut Grid,
        choices: &mut Choices,
    ) -> Normalization {
        self.spend(Neighbour::BatchNormalization);
        // half a step of the input is a step of the output
        let step = power_of_two(grid.exponent);
        let multiplier = *choices.one_of(&[2, 4, 6]);
        let rest = (growth(Neighbour::BatchNormalization) - multiplier) * grid.bound;
        let mean_limit = (rest / 2 / multiplier).min(9);
        let offset_limit = (rest - multiplier * mean_limit).min(9);
        let mut normalization = Normalization::with_epsilon(EPSILON);
        for _ in 0..channels {
            let factor = nonzero(multiplier, choices);
            let (scale, deviation) =
                if factor % 2 == 0 && choices.percent(50) { (factor / 2, 1.0) } else { (factor, 2.0) };
            normalization.scale.push(scale as f64);
            normalization.variance.push(deviation * deviation - f64::from(EPSILON));
            normalization.mean.push(nonzero(mean_limit, choices) as f64 * step);
            normalization.offset.push(nonzero(offset_limit, choices) as f64 * step / 2.0);
        }
        grid.bound = multiplier * (grid.bound + mean_limit) + offset_limit;
        grid.exponent -= 1;
        normalization
    }

    fn addend(&mut self, grid: &mut Grid) -> u64 {
        self.spend(Neighbour::AddChannels);
        let limit = grid.bound.min(9);
        grid.bound += limit;
        limit
    }

    fn spend(&mut self, neighbour: Neighbour) {
        self.growth_ahead /= growth(neighbour);
    }

    /// An exponent about `exponent` and within the format's.
    fn step(&self, exponent: i32, choices: &mut Choices) -> i32 {
        (exponent + choices.one_of(&[-2, -1, 0, 0, 0, 1])).clamp(self.exponents.0, self.exponents.1)
    }
}

/// Added to a variance of 1 or 4 less itself, which half precision holds, it gives a number with an exact root.
const EPSILON: f32 = 1.0 / 256.0;

/// Weights and bias in steps of 2 to their exponents.
pub struct Convolution {
    pub weights: Vec<i64>,
    pub weight_exponent: i32,
    pub bias: Vec<i64>,
    pub bias_exponent: i32,
}

/// The factor by which an operator may raise the bound of its input.
const fn growth(neighbour: Neighbour) -> u64 {
    match neighbour {
        Neighbour::Relu => 1,
        Neighbour::AddChannels | Neighbour::AddScalar | Neighbour::AddInput | Neighbour::AddResidual => 2,
        Neighbour::BatchNormalization => 8,
    }
}

/// Weights whose magnitudes sum to no more than `gain` for each output channel: all of them nonzero where it
/// suffices, and otherwise as many ones as it allows in random places.
fn weights(layer: &Layer, gain: u64, choices: &mut Choices) -> Vec<i64> {
    let taps = layer.taps() as u64;
    let count: usize = layer.weight_shape().iter().product();
    let limit = (gain / taps).min(7);
    if limit > 0 {
        return (0..count).map(|_| nonzero(limit, choices)).collect();
    }
    let mut weights = vec![0; count];
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); layer.output_channels()];
    for element in 0..count {
        places[layer.output_channel_of(element)].push(element);
    }
    for mut places in places {
        choices.shuffle(&mut places);
        for place in places.into_iter().take(gain as usize) {
            weights[place] = nonzero(1, choices);
        }
    }
    weights
}

/// The largest sum of magnitudes over the weights of one output channel.
fn heaviest_output(layer: &Layer, weights: &[i64]) -> u64 {
    let mut sums = vec![0; layer.output_channels()];
    for (element, weight) in weights.iter().enumerate() {
        sums[layer.output_channel_of(element)] += weight.unsigned_abs();
    }
    sums.into_iter().max().unwrap_or(0)
}

/// Uniform over `-limit..=limit` but for zero; zero where that leaves nothing.
fn nonzero(limit: u64, choices: &mut Choices) -> i64 {
    if limit == 0 {
        return 0;
    }
    let magnitude = choices.within(1..=limit as usize) as i64;
    if choices.percent(50) { -magnitude } else { magnitude }
}

/// The largest number whose `degree`th power is at most `power`.
fn root(power: u64, degree: u32) -> u64 {
    let (mut low, mut high) = (0, 1 << 32);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        match middle.checked_pow(degree) {
            Some(found) if found <= power => low = middle,
            _ => high = middle,
        }
    }
    low
}

/// Exact for the exponents of a budget.
pub fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
}
