use twinfer_case::{Recipe, Regime};
use twinfer_onnx::{DataType, Tensor};

use crate::{
    Choices, Neighbour, Values,
    exact::{Budget, Grid, power_of_two},
    layer::Layer,
};

/// Draws the constants of a graph, in the regime of the case.
#[derive(Clone, Debug)]
pub struct Parameters {
    dtype: DataType,
    regime: Data,
}

/// What is known of the values of a tensor: in the exact regime their grid.
pub type Knowledge = Option<Grid>;

#[derive(Clone, Debug)]
enum Data {
    Exact(Budget),
    Rounding(Values),
}

/// The parameters of a BatchNormalization, one entry a channel.
pub struct Normalization {
    /// `None` leaves the attribute out.
    pub epsilon: Option<f32>,
    pub scale: Vec<f64>,
    pub offset: Vec<f64>,
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
}

impl Normalization {
    pub const fn with_epsilon(epsilon: f32) -> Self {
        Self { epsilon: Some(epsilon), scale: vec![], offset: vec![], mean: vec![], variance: vec![] }
    }
}

impl Parameters {
    pub fn new(values: Values, dtype: DataType, convolutions: usize) -> Self {
        let regime = match values {
            Values::Exact => Data::Exact(Budget::new(dtype, convolutions)),
            rounding => Data::Rounding(rounding),
        };
        Self { dtype, regime }
    }

    /// Whether there is room for `neighbour`; if so it is kept.
    pub fn reserve(&mut self, neighbour: Neighbour) -> bool {
        match &mut self.regime {
            Data::Exact(budget) => budget.reserve(neighbour),
            Data::Rounding(_) => true,
        }
    }

    /// The regime of the case's first input, and what is known of its values.
    pub fn input(&self, choices: &mut Choices) -> (Regime, Knowledge) {
        match &self.regime {
            Data::Exact(budget) => {
                let grid = budget.input(choices);
                (Regime::Exact { limit: grid.bound as u32, exponent: grid.exponent }, Some(grid))
            }
            Data::Rounding(values) => (rounding(*values), None),
        }
    }

    /// The weights and, where `biased`, the bias of `layer`.
    pub fn convolution(
        &mut self,
        layer: &Layer,
        biased: bool,
        known: &mut Knowledge,
        choices: &mut Choices,
    ) -> (Tensor, Option<Tensor>) {
        let (shape, channels) = (layer.weight_shape(), vec![layer.output_channels()]);
        match (&mut self.regime, known) {
            (Data::Exact(budget), Some(grid)) => {
                let drawn = budget.convolution(layer, biased, grid, choices);
                let weights = on_grid(self.dtype, shape, &drawn.weights, drawn.weight_exponent);
                let bias = biased.then(|| on_grid(self.dtype, channels, &drawn.bias, drawn.bias_exponent));
                (weights, bias)
            }
            (Data::Rounding(values), _) => {
                // the bias is of the inputs' magnitude, so that neither drowns the other
                let inputs = rounding(*values);
                // as many decades of weights as of inputs, in some cases
                let regime = match values {
                    Values::WideRange if choices.percent(50) => Regime::WideRange,
                    _ => Regime::Gaussian,
                };
                // about 1/sqrt(taps), so that deep sums keep the magnitude of their inputs
                let scale = power_of_two(-(layer.taps().ilog2() as i32) / 2);
                let weights = scaled(&self.draw(shape, regime, choices), scale);
                (weights, biased.then(|| self.draw(channels, inputs, choices)))
            }
            (Data::Exact(_), None) => unreachable!("the exact regime knows the grid of each value"),
        }
    }

    /// A constant that is added to a value.
    pub fn constant(&mut self, shape: Vec<usize>, known: &mut Knowledge, choices: &mut Choices) -> Tensor {
        match (&mut self.regime, known) {
            (Data::Exact(budget), Some(grid)) => {
                let steps = budget.constants(shape.iter().product(), grid, choices);
                on_grid(self.dtype, shape, &steps, grid.exponent)
            }
            (Data::Rounding(values), _) => {
                let inputs = rounding(*values);
                self.draw(shape, inputs, choices)
            }
            (Data::Exact(_), None) => unreachable!("the exact regime knows the grid of each value"),
        }
    }

    /// The regime of a further input that is added to a value.
    pub fn added_input(&mut self, known: &mut Knowledge) -> Regime {
        match (&mut self.regime, known) {
            (Data::Exact(budget), Some(grid)) => budget.added_input(grid),
            (Data::Rounding(values), _) => rounding(*values),
            (Data::Exact(_), None) => unreachable!("the exact regime knows the grid of each value"),
        }
    }

    /// What is known of the sum of two values; `None` where they must not be added.
    pub fn residual(&mut self, known: Knowledge, other: Knowledge) -> Option<Knowledge> {
        match (&mut self.regime, known, other) {
            (Data::Exact(budget), Some(grid), Some(other)) => budget.residual(grid, other).map(Some),
            _ => Some(None),
        }
    }

    /// Parameters of a BatchNormalization over `channels`.
    pub fn normalization(
        &mut self,
        channels: usize,
        known: &mut Knowledge,
        choices: &mut Choices,
    ) -> Normalization {
        match (&mut self.regime, known) {
            (Data::Exact(budget), Some(grid)) => budget.normalization(channels, grid, choices),
            (Data::Rounding(values), _) => {
                let inputs = rounding(*values);
                self.rounding_normalization(channels, inputs, choices)
            }
            (Data::Exact(_), None) => unreachable!("the exact regime knows the grid of each value"),
        }
    }

    /// Offsets are of the inputs' magnitude; what multiplies is about one.
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
        let epsilon = choices.percent(50).then_some(1e-3);
        Normalization { epsilon, scale, offset, mean, variance }
    }

    /// A tensor of the case's type.
    pub fn tensor(&self, values: &[f64]) -> Tensor {
        made(self.dtype, vec![values.len()], values)
    }

    /// Two tensors whose sum is `whole`; in the exact regime without rounding.
    pub fn summands(&self, whole: &Tensor, choices: &mut Choices) -> [Tensor; 2] {
        match self.regime {
            Data::Exact(_) => {
                let values = whole.to_f64();
                let moved: Vec<_> = (0..values.len()).map(|_| values[choices.below(values.len())]).collect();
                let rest: Vec<_> = values.iter().zip(&moved).map(|(value, moved)| value - moved).collect();
                [&moved, &rest].map(|values| made(self.dtype, whole.shape.clone(), values))
            }
            Data::Rounding(_) => [whole.clone(), self.draw(whole.shape.clone(), Regime::Gaussian, choices)],
        }
    }

    fn draw(&self, shape: Vec<usize>, regime: Regime, choices: &mut Choices) -> Tensor {
        let recipe = Recipe { dtype: self.dtype, shape, regime, seed: choices.seed() };
        recipe.materialize().expect("a generated tensor is small")
    }
}

const fn rounding(values: Values) -> Regime {
    match values {
        Values::WideRange => Regime::WideRange,
        Values::Denormal => Regime::Denormal,
        Values::Saturating => Regime::Saturating,
        Values::Gaussian | Values::Exact => Regime::Gaussian,
    }
}

fn scaled(tensor: &Tensor, factor: f64) -> Tensor {
    let values: Vec<_> = tensor.to_f64().iter().map(|value| value * factor).collect();
    made(tensor.dtype(), tensor.shape.clone(), &values)
}

fn on_grid(dtype: DataType, shape: Vec<usize>, steps: &[i64], exponent: i32) -> Tensor {
    let step = power_of_two(exponent);
    let values: Vec<_> = steps.iter().map(|steps| *steps as f64 * step).collect();
    made(dtype, shape, &values)
}

fn made(dtype: DataType, shape: Vec<usize>, values: &[f64]) -> Tensor {
    Tensor::from_f64(dtype, shape, values).expect("one value was drawn for each element")
}
