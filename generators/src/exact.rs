//! The exact regime: integers times a power of two, within a budget that no sum of products exceeds.
//!
//! A tensor lies on a [`Grid`]. Each operator makes the grid finer or its bound larger, by an amount that is decided
//! when its parameters are drawn. So every operand, every partial sum in whatever order, and every result is a
//! multiple of the grid's step that the format holds exactly.

use twinfer_case::Regime;
use twinfer_onnx::DataType;

use crate::{
    Choices, Neighbor, Quantizer,
    forms::Forms,
    layer::Layer,
    normalization::Normalization,
    power::power_of_two,
    weights::{Weights, nonzero},
};

/// Values are multiples of 2^`exponent` and at most `bound` steps from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub bound: u64,
    pub exponent: i32,
}

impl Grid {
    /// Divides the step by a power of two.
    pub const fn refine(&mut self, exponent: u32) {
        self.bound <<= exponent;
        self.exponent -= exponent as i32;
    }
}

/// The operators between a value and the next quantizer or the output, as a maximum over all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    pub convolutions: u32,
    /// The factor by which the other operators may raise the bound of the value.
    pub growth: u64,
}

impl Ahead {
    pub const NOTHING: Self = Self { convolutions: 0, growth: 1 };

    pub const fn convolution(self) -> Self {
        Self { convolutions: self.convolutions + 1, ..self }
    }

    pub const fn growth(self, growth: u64) -> Self {
        Self { growth: self.growth.saturating_mul(growth), ..self }
    }

    /// The maximum of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            convolutions: self.convolutions.max(other.convolutions),
            growth: self.growth.max(other.growth),
        }
    }
}

/// The limits within which values of a format are exact.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The number of steps that the format represents exactly.
    capacity: u64,
    /// The range of exponents in which the smallest step is a normal number and the largest value is finite.
    exponents: (i32, i32),
    /// Whether all values are of similar size, so that values that are added or concatenated have similar steps.
    is_level: bool,
}

/// The size of values of similar size, as a power of two.
const LEVEL: i32 = 3;

/// The smallest factor by which the sums of a convolution may grow; with a smaller one few weights would be nonzero.
const LEAST_GAIN: u64 = 4;

impl Budget {
    /// The budget of a format with this precision.
    ///
    /// Single precision keeps six of its 24 bits free, so that transforms that are not exact on integers, such as Winograd's,
    /// still round to the right grid point.
    pub const fn new(precision: DataType, is_level: bool) -> Self {
        let (capacity, exponents) = match precision {
            DataType::Float16 => (1 << 11, (-11, 3)),
            DataType::Bfloat16 => (1 << 8, (-60, 60)),
            _ => (1 << 18, (-60, 60)),
        };
        Self { capacity, exponents, is_level }
    }

    /// Whether a value in front of these operators can be more than a few steps from zero.
    pub const fn has_room(&self, ahead: Ahead) -> bool {
        ahead.growth.saturating_mul(LEAST_GAIN.pow(ahead.convolutions)) <= self.capacity / 2
    }

    /// Draws the grid of the case's input.
    ///
    /// Draws the grid of an input that is quantized first. It may be large: its grid is finer than the quantizer's,
    /// and some values saturate.
    pub fn input(&self, ahead: Ahead, choices: &mut Choices) -> Grid {
        let bounds: &[u64] =
            if ahead == Ahead::NOTHING { &[9, 30, 90, 300, 900, 1500] } else { &[2, 3, 5, 7, 8] };
        let bound = (*choices.one_of(bounds)).min(self.most(ahead)).max(1);
        Grid { bound, exponent: self.step(0, bound, choices) }
    }

    /// The bound of a value that leaves an equally large factor to each convolution ahead.
    fn most(&self, ahead: Ahead) -> u64 {
        root(self.capacity / ahead.growth, ahead.convolutions + 1)
    }

    /// Draws the scale and the zero point of a quantizer of values on `grid`, and changes `grid` to that of the
    /// quantized values.
    pub fn quantization(
        &self,
        quantizer: Quantizer,
        ahead: Ahead,
        grid: &mut Grid,
        choices: &mut Choices,
    ) -> (i32, i64) {
        let zero_point = quantizer.zero_point(choices);
        let (least, greatest) = quantizer.levels(zero_point);
        let representable = greatest.max(-least).unsigned_abs();
        let most = self.most(ahead);
        // if the budget has room for all integers, some numbers exceed their range
        let reach = *choices.one_of(&[5, 12, 40, 130, 200, 400]);
        let reach = if representable <= most { reach } else { reach.min(most) };
        let finer = (1..63).find(|finer| grid.bound.div_ceil(1 << finer) <= reach).unwrap_or(63);
        grid.bound = grid.bound.div_ceil(1 << finer).min(representable).max(1);
        grid.exponent += finer;
        (grid.exponent, zero_point)
    }

    /// Draws the weights and the bias of `layer` for an input on `grid`, and changes `grid` to that of the output. `ahead`
    /// describes the operators behind the output.
    pub fn convolution(
        &self,
        layer: &Layer,
        forms: Forms,
        ahead: Ahead,
        grid: &mut Grid,
        choices: &mut Choices,
    ) -> Convolution {
        let gain = root(self.capacity / ahead.growth / grid.bound, ahead.convolutions + 1).max(1);
        let allowed = gain * grid.bound;
        // a bias of a few steps would be lost when the sums are quantized
        let bias_limit = match (forms.bias, forms.weights) {
            (None, _) => 0,
            (Some(_), None) => (allowed / 4).min(9),
            (Some(_), Some(_)) => allowed / 8,
        };
        let weights = Weights::within(layer, (allowed - bias_limit) / grid.bound, forms.weights, choices);
        let bias = (0..layer.output_channels())
            .map(|channel| {
                let shift = forms.bias_shift(layer, &weights, channel);
                Steps { level: nonzero(bias_limit >> shift, choices), shift }
            })
            .collect();
        grid.bound = grid.bound * weights.heaviest_output(layer) + bias_limit;
        let exponent = self.step(grid.exponent, grid.bound, choices);
        let weight_exponent = exponent - grid.exponent;
        grid.exponent = exponent;
        Convolution { weights, weight_exponent, bias, bias_exponent: exponent }
    }

    /// The grid of a sum; `None` if it exceeds the reserved growth.
    pub fn residual(&self, grid: Grid, other: Grid) -> Option<Grid> {
        let exponent = grid.exponent.min(other.exponent);
        let bound = [grid, other]
            .iter()
            .map(|grid| grid.bound.checked_shl(grid.exponent.abs_diff(exponent)))
            .try_fold(0, |sum, bound| Some(sum + bound.filter(|bound| *bound <= self.capacity)?))?;
        let fits = bound <= grid.bound * growth(Neighbor::AddResidual);
        fits.then_some(Grid { bound, exponent })
    }

    /// The grids of values that are added or concatenated; `None` if they have no common step of which few enough are
    /// needed.
    pub fn joined(&self, grids: &[Grid], adds: bool, ahead: Ahead) -> Option<Grid> {
        let exponent = grids.iter().map(|grid| grid.exponent).min()?;
        let room = self.room(ahead);
        let mut bound = 0;
        for grid in grids {
            let finer = grid.exponent.abs_diff(exponent);
            let steps = grid.bound.checked_shl(finer).filter(|steps| steps >> finer == grid.bound)?;
            bound = if adds { bound + steps.min(room + 1) } else { bound.max(steps) };
        }
        (bound <= room).then_some(Grid { bound, exponent })
    }

    /// The exponent of a scale with which quantized values can be joined.
    pub fn common_scale(&self, grids: &[Grid], ahead: Ahead) -> i32 {
        let most = (self.room(ahead) / grids.len() as u64).clamp(1, 127);
        let exponents = grids.iter().map(|grid| {
            let coarser = (0..63).find(|coarser| grid.bound.div_ceil(1 << coarser) <= most);
            grid.exponent + coarser.unwrap_or(63)
        });
        exponents.max().unwrap_or(0)
    }

    /// The largest bound that leaves a growth factor to each convolution ahead.
    const fn room(&self, ahead: Ahead) -> u64 {
        self.capacity / ahead.growth / LEAST_GAIN.pow(ahead.convolutions)
    }

    /// Draws the slope of a LeakyRelu: a power of two, above 1 where the format has no room for a finer step.
    pub fn slope(&self, grid: &mut Grid, choices: &mut Choices) -> f64 {
        let room = (grid.exponent - self.exponents.0).max(0);
        match choices.within(1..=3).min(room as usize) {
            0 => {
                grid.bound *= 2;
                2.0
            }
            finer => {
                grid.refine(finer as u32);
                power_of_two(-(finer as i32))
            }
        }
    }

    /// Draws an exponent near `exponent`, or near that of the common size of all values, within the range of the
    /// format.
    pub fn step(&self, exponent: i32, bound: u64, choices: &mut Choices) -> i32 {
        let about = if self.is_level { LEVEL - bound.max(1).ilog2() as i32 } else { exponent };
        (about + choices.one_of(&[-2, -1, 0, 0, 0, 1])).clamp(self.exponents.0, self.exponents.1)
    }
}

/// Draws constants to add to values on `grid`, in its steps.
pub fn constants(count: usize, grid: &mut Grid, choices: &mut Choices) -> Vec<i64> {
    let limit = addend(grid);
    (0..count).map(|_| nonzero(limit, choices)).collect()
}

/// The regime of a further input that is added to values on `grid`.
pub fn added_input(grid: &mut Grid) -> Regime {
    let exponent = grid.exponent;
    let limit = addend(grid);
    Regime::Exact { limit: limit as u32, exponent }
}

/// The bound of constants: similar to that of the values, and small.
fn addend(grid: &mut Grid) -> u64 {
    let limit = grid.bound.min(9);
    grid.bound += limit;
    limit
}

/// Draws the bounds of a Clip, in steps of the grid; `bounded` says which there are.
pub fn clip(
    (has_min, has_max): (bool, bool),
    grid: &mut Grid,
    choices: &mut Choices,
) -> (Option<i64>, Option<i64>) {
    // most values are far below what the grid allows
    let mut bound = || (grid.bound >> choices.below(6)).max(1) as i64;
    let max = has_max.then(&mut bound);
    let min = has_min.then(bound).map(|bound| if choices.percent(50) { 0 } else { -bound });
    if let (Some(min), Some(max)) = (min, max) {
        grid.bound = max.max(-min).unsigned_abs();
    }
    (min, max)
}

/// Draws the parameters of a BatchNormalization: for each channel a multiplier with an exact root, and two offsets.
pub fn normalization(channels: usize, grid: &mut Grid, choices: &mut Choices) -> Normalization {
    // half a step of the input is a step of the output
    let step = power_of_two(grid.exponent);
    let multiplier = *choices.one_of(&[2, 4, 6]);
    let rest = (growth(Neighbor::BatchNormalization) - multiplier) * grid.bound;
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

/// An epsilon that half precision represents. The drawn variance plus this epsilon is 1 or 4, whose root is exact;
/// without it the root changes by at least a tenth.
const EPSILON: f32 = 0.75;

/// Weights and bias as integers, in steps of powers of two.
pub struct Convolution {
    pub weights: Weights,
    pub weight_exponent: i32,
    pub bias: Vec<Steps>,
    pub bias_exponent: i32,
}

/// `level` times two to the power of `shift`.
#[derive(Clone, Copy)]
pub struct Steps {
    pub level: i64,
    pub shift: u32,
}

/// The factor by which an operator may raise the bound of its input.
pub const fn growth(neighbor: Neighbor) -> u64 {
    match neighbor {
        Neighbor::Clip | Neighbor::HardSwish | Neighbor::Relu | Neighbor::Swish => 1,
        Neighbor::AddChannels | Neighbor::AddScalar | Neighbor::AddInput | Neighbor::AddResidual => 2,
        Neighbor::BatchNormalization | Neighbor::LeakyRelu => 8,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_MORE: Ahead = Ahead { convolutions: 1, growth: 2 };

    #[test]
    fn values_join_on_the_finer_grid_where_there_is_room() {
        let budget = Budget::new(DataType::Float, true);
        let grids = [Grid { bound: 100, exponent: 2 }, Grid { bound: 30, exponent: -1 }];
        assert_eq!(budget.joined(&grids, true, ONE_MORE), Some(Grid { bound: 830, exponent: -1 }));
        assert_eq!(budget.joined(&grids, false, ONE_MORE), Some(Grid { bound: 800, exponent: -1 }));
        let far = [Grid { bound: 100, exponent: 20 }, Grid { bound: 30, exponent: -1 }];
        assert_eq!(budget.joined(&far, true, ONE_MORE), None);
        let beyond = [Grid { bound: 100, exponent: 80 }, Grid { bound: 30, exponent: -1 }];
        assert_eq!(budget.joined(&beyond, true, ONE_MORE), None);
    }

    #[test]
    fn what_is_quantized_by_a_common_scale_can_be_joined() {
        let mut choices = Choices::of_index(2, 0);
        for precision in [DataType::Float, DataType::Float16] {
            let budget = Budget::new(precision, true);
            for _ in 0..500 {
                let mut grid = || Grid {
                    bound: choices.within(1..=2000) as u64,
                    exponent: choices.below(12) as i32 - 6,
                };
                let grids = [grid(), grid()];
                let exponent = budget.common_scale(&grids, ONE_MORE);
                let quantized = grids.map(|grid| {
                    let bound = grid.bound.div_ceil(1 << (exponent - grid.exponent));
                    assert!(bound <= 127, "{grid:?} saturates");
                    Grid { bound, exponent }
                });
                assert!(budget.joined(&quantized, true, ONE_MORE).is_some(), "{grids:?}");
            }
        }
    }
}
