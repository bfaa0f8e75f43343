use twinfer_case::{Recipe, Regime};
use twinfer_onnx::{DataType, Tensor};

use crate::{
    Choices, Quantizer, Values,
    exact::{self, Ahead, Budget, Grid},
    normalization::Normalization,
    power::power_of_two,
    tensors::{made, on_grid},
};

/// Draws the constants of a graph, in the regime of the case.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    pub dtype: DataType,
    pub budget: Budget,
    values: Values,
}

/// The approximate standard deviation of uniformly distributed 8-bit integers.
const TYPICAL_INTEGER: f64 = 74.0;

/// The share of Clips with both bounds whose lower bound is above the upper one, in percent.
const EXCHANGED_BOUNDS: u32 = 6;

/// The known properties of the values of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knowledge {
    /// The grid on which the values lie, in the exact regime.
    Grid(Grid),
    /// The approximate size of the values, in the other regimes.
    Magnitude(f64),
}

impl Parameters {
    /// Creates the generator of constants; `is_level` keeps exact values of similar size.
    pub const fn new(values: Values, dtype: DataType, is_level: bool) -> Self {
        Self { dtype, values, budget: Budget::new(dtype, is_level) }
    }

    /// Whether a value in front of these operators can be more than a few steps from zero.
    pub fn has_room(&self, ahead: Ahead) -> bool {
        self.values != Values::Exact || self.budget.has_room(ahead)
    }

    /// Draws the regime of the case's first input; also returns the known properties of its values.
    pub fn input(&self, ahead: Ahead, choices: &mut Choices) -> (Regime, Knowledge) {
        match self.values {
            Values::Exact => {
                let grid = self.budget.input(ahead, choices);
                let regime = Regime::Exact { limit: grid.bound as u32, exponent: grid.exponent };
                (regime, Knowledge::Grid(grid))
            }
            rounding => (self.regime(), Knowledge::Magnitude(magnitude(rounding, self.dtype, choices))),
        }
    }

    /// Draws the regime of integers that are fed to a case; also returns the known properties of the integers minus
    /// the zero point.
    pub fn integers(
        &self,
        quantizer: Quantizer,
        zero_point: i64,
        ahead: Ahead,
        choices: &mut Choices,
    ) -> (Regime, Knowledge) {
        let (mut least, mut greatest) = quantizer.levels(zero_point);
        let known = match self.values {
            Values::Exact => {
                let most = self.budget.input(ahead, choices).bound as i64;
                (least, greatest) = (least.max(-most), greatest.min(most));
                Knowledge::Grid(Grid { bound: greatest.max(-least) as u64, exponent: 0 })
            }
            _ => Knowledge::Magnitude(TYPICAL_INTEGER),
        };
        let integer = |level: i64| (level + zero_point) as i32;
        (Regime::Integers { least: integer(least), greatest: integer(greatest) }, known)
    }

    /// Draws the scale of integers, and changes `known` from the integers to the numbers that they represent.
    pub fn dequantization(&self, known: &mut Knowledge, choices: &mut Choices) -> f64 {
        match known {
            Knowledge::Grid(grid) => {
                grid.exponent = self.budget.step(0, grid.bound, choices);
                power_of_two(grid.exponent)
            }
            Knowledge::Magnitude(integers) => {
                let wanted = magnitude(self.values, self.dtype, choices);
                let scale = self.scale(wanted / *integers * mantissa(choices));
                *integers *= scale;
                scale
            }
        }
    }

    /// Draws the scale and the zero point of a quantizer, and changes `known` to the properties of the quantized
    /// values.
    pub fn quantization(
        &self,
        quantizer: Quantizer,
        ahead: Ahead,
        known: &mut Knowledge,
        choices: &mut Choices,
    ) -> (f64, i64) {
        match known {
            Knowledge::Grid(grid) => {
                let (exponent, zero_point) = self.budget.quantization(quantizer, ahead, grid, choices);
                (power_of_two(exponent), zero_point)
            }
            Knowledge::Magnitude(magnitude) => {
                let zero_point = quantizer.zero_point(choices);
                // mostly enough for three deviations, sometimes so little that many values saturate
                let tightness = *choices.one_of(&[0.2, 0.5, 1.0, 1.0, 1.0, 2.0]);
                let scale = 3.0 / 127.0 * *magnitude * tightness * mantissa(choices);
                let scale = self.scale(scale);
                *magnitude = magnitude.min(127.0 * scale);
                (scale, zero_point)
            }
        }
    }

    /// Draws a constant to add to a value.
    pub fn constant(&self, shape: Vec<usize>, known: &mut Knowledge, choices: &mut Choices) -> Tensor {
        match known {
            Knowledge::Grid(grid) => {
                let steps = exact::constants(shape.iter().product(), grid, choices);
                on_grid(self.dtype, shape, &steps, grid.exponent)
            }
            Knowledge::Magnitude(_) => self.draw(shape, self.regime(), choices),
        }
    }

    /// Draws the regime of another input that is added to a value.
    pub fn added_input(&self, known: &mut Knowledge) -> Regime {
        match known {
            Knowledge::Grid(grid) => exact::added_input(grid),
            Knowledge::Magnitude(_) => self.regime(),
        }
    }

    /// The known properties of the sum of two values; `None` if they must not be added.
    pub fn residual(&self, known: Knowledge, other: Knowledge) -> Option<Knowledge> {
        match (known, other) {
            (Knowledge::Grid(grid), Knowledge::Grid(other)) => {
                self.budget.residual(grid, other).map(Knowledge::Grid)
            }
            (Knowledge::Magnitude(a), Knowledge::Magnitude(b)) => Some(Knowledge::Magnitude(a.hypot(b))),
            _ => None,
        }
    }

    /// The known properties of values after they are added or concatenated; `None` if they must not be.
    pub fn joined(&self, known: &[Knowledge], adds: bool, ahead: Ahead) -> Option<Knowledge> {
        if let Some(grids) = grids(known) {
            return self.budget.joined(&grids, adds, ahead).map(Knowledge::Grid);
        }
        let magnitudes = known.iter().map(|known| known.magnitude());
        Some(Knowledge::Magnitude(magnitudes.fold(0.0, if adds { f64::hypot } else { f64::max })))
    }

    /// A scale with which quantized values can be joined, and the known properties of each value afterwards.
    pub fn common_scale(&self, known: &mut [Knowledge], ahead: Ahead) -> f64 {
        let exponent = grids(known).map_or(0, |grids| self.budget.common_scale(&grids, ahead));
        for known in known {
            if let Knowledge::Grid(grid) = known {
                let coarser = exponent.abs_diff(grid.exponent);
                *grid = Grid { bound: grid.bound.div_ceil(1 << coarser.min(62)), exponent };
            }
        }
        power_of_two(exponent)
    }

    /// Draws the bounds of a Clip, of which there are those that `bounded` says. The lower one may be above the upper one; ONNX defines the result
    /// from operator set 13 on.
    pub fn clip(
        &self,
        bounded: (bool, bool),
        known: &mut Knowledge,
        choices: &mut Choices,
    ) -> [Option<Tensor>; 2] {
        let bounds = match known {
            Knowledge::Grid(grid) => {
                let (min, max) = exact::clip(bounded, grid, choices);
                let bound = |steps: i64| on_grid(self.dtype, vec![], &[steps], grid.exponent);
                [min.map(bound), max.map(bound)]
            }
            Knowledge::Magnitude(magnitude) => {
                let bound = *magnitude * choices.one_of(&[0.25, 0.5, 1.0, 2.0]) * mantissa(choices);
                let max = bounded.1.then(|| self.scalar(bound));
                let min = if choices.percent(50) { 0.0 } else { -bound };
                if bounded == (true, true) {
                    *magnitude = magnitude.min(bound);
                }
                [bounded.0.then(|| self.scalar(min)), max]
            }
        };
        match bounds {
            [Some(min), Some(max)] if choices.percent(EXCHANGED_BOUNDS) => [Some(max), Some(min)],
            bounds => bounds,
        }
    }

    /// Draws the slope of a LeakyRelu; `None` leaves it out.
    pub fn slope(&self, known: &mut Knowledge, choices: &mut Choices) -> Option<f32> {
        match known {
            Knowledge::Grid(grid) => Some(self.budget.slope(grid, choices) as f32),
            Knowledge::Magnitude(_) => *choices.one_of(&[None, Some(0.1), Some(0.2), Some(0.5), Some(1.5)]),
        }
    }

    /// Draws the parameters of a BatchNormalization over `channels`.
    pub fn normalization(
        &self,
        channels: usize,
        known: &mut Knowledge,
        choices: &mut Choices,
    ) -> Normalization {
        match known {
            Knowledge::Grid(grid) => exact::normalization(channels, grid, choices),
            Knowledge::Magnitude(_) => self.rounding_normalization(channels, self.regime(), choices),
        }
    }

    /// Draws offsets of the inputs' magnitude and multipliers near one.
    fn rounding_normalization(
        &self,
        channels: usize,
        inputs: Regime,
        choices: &mut Choices,
    ) -> Normalization {
        let mut drawn = |regime| self.draw(vec![channels], regime, choices).to_f64();
        let (scale, deviation) = (drawn(Regime::Gaussian), drawn(Regime::Gaussian));
        let (offset, mean) = (drawn(inputs), drawn(inputs));
        let variance = deviation.iter().map(|x| x * x + 0.25).collect();
        // the default is about as small as a rounding error
        let epsilon = choices.percent(75).then_some(0.125);
        Normalization { epsilon, scale, offset, mean, variance }
    }

    /// A tensor of the case's type.
    pub fn tensor(&self, values: &[f64]) -> Tensor {
        made(self.dtype, vec![values.len()], values)
    }

    /// A number of the case's type.
    pub fn scalar(&self, value: f64) -> Tensor {
        made(self.dtype, vec![], &[value])
    }

    /// Splits `whole` into two summands; in the exact regime the sum does not round.
    pub fn summands(&self, whole: &Tensor, choices: &mut Choices) -> [Tensor; 2] {
        if self.values != Values::Exact {
            return [whole.clone(), self.draw(whole.shape.clone(), Regime::Gaussian, choices)];
        }
        let values = whole.to_f64();
        let moved: Vec<_> = (0..values.len()).map(|_| values[choices.below(values.len())]).collect();
        let rest: Vec<_> = values.iter().zip(&moved).map(|(value, moved)| value - moved).collect();
        [&moved, &rest].map(|values| made(self.dtype, whole.shape.clone(), values))
    }

    pub fn draw(&self, shape: Vec<usize>, regime: Regime, choices: &mut Choices) -> Tensor {
        let recipe = Recipe { dtype: self.dtype, shape, regime, seed: choices.seed() };
        recipe.materialize().expect("a generated tensor is small")
    }

    /// The regime of inputs outside of the exact regime.
    pub const fn regime(&self) -> Regime {
        match self.values {
            Values::WideRange => Regime::WideRange,
            Values::Denormal => Regime::Denormal,
            Values::Saturating => Regime::Saturating,
            Values::Gaussian | Values::Exact => Regime::Gaussian,
        }
    }

    /// The approximate largest magnitude of inputs outside of the exact regime.
    pub const fn largest_input(&self) -> f64 {
        power_of_two(match (self.values, self.dtype) {
            (Values::Gaussian | Values::Exact, _) => 0,
            (Values::WideRange, DataType::Float16) => 3,
            (Values::WideRange, _) => 23,
            (Values::Denormal, DataType::Float16) => -3,
            (Values::Denormal, _) => -115,
            (Values::Saturating, DataType::Float16) => 14,
            (Values::Saturating, _) => 126,
        })
    }

    /// The smallest and the largest scale that the case's type represents with room for the products.
    const fn scales(&self) -> (f64, f64) {
        match self.dtype {
            DataType::Float16 => (power_of_two(-12), power_of_two(6)),
            _ => (power_of_two(-100), power_of_two(100)),
        }
    }

    /// The nearest scale that the case's type represents.
    pub fn scale(&self, wanted: f64) -> f64 {
        let (least, greatest) = self.scales();
        made(self.dtype, vec![], &[wanted.clamp(least, greatest)]).to_f64()[0]
    }
}

impl Knowledge {
    fn magnitude(self) -> f64 {
        match self {
            Self::Grid(grid) => grid.bound as f64 * power_of_two(grid.exponent),
            Self::Magnitude(magnitude) => magnitude,
        }
    }
}

/// The grids of values of the exact regime; `None` if a value has none.
fn grids(known: &[Knowledge]) -> Option<Vec<Grid>> {
    let grid = |known: &Knowledge| match known {
        Knowledge::Grid(grid) => Some(*grid),
        Knowledge::Magnitude(_) => None,
    };
    known.iter().map(grid).collect()
}

/// Draws the approximate magnitude of inputs that a quantizer keeps, from the range of magnitudes of the regime.
fn magnitude(values: Values, dtype: DataType, choices: &mut Choices) -> f64 {
    let (least, greatest) = match (values, dtype) {
        (Values::Gaussian | Values::Exact, _) => (0, 0),
        (Values::WideRange, DataType::Float16) => (-4, 4),
        (Values::WideRange, _) => (-10, 20),
        (Values::Denormal, DataType::Float16) => (-10, -6),
        (Values::Denormal, _) => (-120, -110),
        (Values::Saturating, DataType::Float16) => (13, 14),
        (Values::Saturating, _) => (120, 124),
    };
    power_of_two(least + choices.below(1 + (greatest - least) as usize) as i32)
}

/// Draws a number from 1 to 2 with 30 random bits.
pub fn mantissa(choices: &mut Choices) -> f64 {
    1.0 + choices.below(1 << 30) as f64 * power_of_two(-30)
}
