use twinfer_onnx::DataType;

use super::quantized_range::QuantizedRange;
use crate::{Recipe, Regime, TensorSource};

/// What the inputs of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Small integers, with which most results are exact.
    Integers,
    /// Standard normal values.
    Normal,
    /// Multiples of half a step over the range of the quantizer that reads the input, and beyond. Small integers for other inputs.
    HalfSteps,
    /// Normal values over this range and beyond. Standard normal values for other inputs.
    Range,
}

impl InputKind {
    /// The kinds in the order of runs, of which those for quantizers come last.
    const ALL: [Self; 4] = [Self::Integers, Self::Normal, Self::HalfSteps, Self::Range];

    /// The kind of the run at `index`: the kinds take turns.
    pub fn of_run(index: u64) -> Self {
        let place = index % Self::ALL.len() as u64;
        Self::ALL[usize::try_from(place).unwrap_or_default()]
    }

    /// How many kinds a model has: more if a quantizer reads an input.
    pub fn different(is_quantized: bool) -> u64 {
        Self::ALL.into_iter().filter(|kind| is_quantized || !kind.is_for_quantizers()).count() as u64
    }

    const fn is_for_quantizers(self) -> bool {
        matches!(self, Self::HalfSteps | Self::Range)
    }

    /// The values of an input, which a quantizer with this range reads if there is one.
    pub fn source(
        self,
        dtype: DataType,
        shape: Vec<usize>,
        seed: u64,
        range: Option<&QuantizedRange>,
    ) -> TensorSource {
        let regime = match self {
            Self::Integers | Self::HalfSteps => Regime::Exact { limit: 8, exponent: 0 },
            Self::Normal | Self::Range => Regime::Gaussian,
        };
        let recipe = Recipe { dtype, shape, regime, seed };
        let quantized = match self {
            Self::Integers | Self::Normal => None,
            Self::HalfSteps => range.and_then(|range| range.half_steps(&recipe)),
            Self::Range => range.and_then(|range| range.spread(&recipe)),
        };
        quantized.map_or(TensorSource::Recipe(recipe), TensorSource::Data)
    }
}
